#include "core/schedule/explain.h"

#include <algorithm>
#include <map>

#include "core/schedule/contribution_domain.h"
#include "core/schedule/verify.h"
#include "rondo/error.h"

namespace rondo {
namespace {

constexpr int most_detailed = 64;

/// The Domain of contributions that also writes down what happens.
class Recorder {
 public:
  using Value = ContributionDomain::Value;

  Recorder(const Schedule& header, bool detailed)
      : header_(header),
        detailed_(detailed),
        memory_(
            header, [](const Site&, const std::string&) {}, false) {}

  Value read(const Site& site, const Chunk& run) { return memory_.read(site, run); }
  Value combine(const Site& site, std::span<Value> operands) {
    return memory_.combine(site, operands);
  }
  static Value arrive(const Site&, int, Value value) { return value; }

  void write(const Site& site, const Chunk& run, const Value& value) {
    memory_.write(site, run, value);
    if (!detailed_) return;
    round(site).results.push_back(
        {site.rank, site.lane, run.buffer, site.op->operands > 1, pieces(value)});
  }

  Value depart(const Site& site, int peer, Value value) {
    ExplainedRound& at = round(site);
    ++at.message_count;
    at.totals.resize(static_cast<std::size_t>(header_.ranks));
    RankTotal& own = at.totals[static_cast<std::size_t>(site.rank)];
    ++own.messages;
    if (!is_token(header_.collective))
      own.sent += static_cast<double>(value.size()) / header_.layout.chunks();
    if (detailed_) at.messages.push_back({site.rank, peer, site.lane, pieces(value)});
    return value;
  }

  void fill(Explanation& explanation) {
    std::vector<RankTotal> running(static_cast<std::size_t>(header_.ranks));
    for (auto& [label, round] : rounds_) {
      round.totals.resize(running.size());
      for (std::size_t rank = 0; rank < running.size(); ++rank) {
        running[rank].messages += round.totals[rank].messages;
        running[rank].sent += round.totals[rank].sent;
      }
      round.totals = running;
      const auto by_rank = [](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); };
      std::stable_sort(round.messages.begin(), round.messages.end(), by_rank);
      std::stable_sort(round.results.begin(), round.results.end(), by_rank);
      explanation.rounds.push_back(std::move(round));
    }
    explanation.totals = std::move(running);
    if (!detailed_) return;
    for (int rank = 0; rank < header_.ranks; ++rank) explanation.outputs.push_back(outputs(rank));
  }

 private:
  static int rank_of(const ExplainedMessage& message) { return message.from; }
  static int rank_of(const ExplainedResult& result) { return result.rank; }

  ExplainedRound& round(const Site& site) {
    ExplainedRound& at = rounds_[{site.op->phase, site.op->round}];
    at.phase = site.op->phase;
    at.round = site.op->round;
    return at;
  }

  Piece piece(const Contribution& value) const {
    if (value.fault == Contribution::Fault::undefined) return {};
    return {value.chunk, value.count, memory_.algebra().contributors(value)};
  }
  std::vector<Piece> pieces(const Value& values) const {
    std::vector<Piece> all;
    for (const Contribution& value : values) all.push_back(piece(value));
    return all;
  }
  std::vector<Piece> outputs(int rank) const {
    const ChunkSpan span =
        held(header_.collective, Buffer::output, header_.layout, rank, header_.root);
    std::vector<Piece> all;
    for (int i = 0; i < span.count; ++i) all.push_back(piece(memory_.output(rank, span.first + i)));
    return all;
  }

  const Schedule& header_;
  bool detailed_;
  ContributionDomain memory_;
  std::map<std::pair<int, std::uint32_t>, ExplainedRound> rounds_{};
};

}  // namespace

Explanation explain(const Schedule& schedule) {
  check_header(schedule);
  Explanation explanation;
  explanation.header = schedule;
  explanation.header.steps = nullptr;
  explanation.detailed = schedule.ranks <= most_detailed;
  const Report report = verify(schedule);
  explanation.findings = report.findings;
  Recorder recorder(schedule, explanation.detailed);
  try {
    run(schedule, recorder);
    if (report.ok()) explanation.counts = count(schedule);
  } catch (const Error&) {
    // The verifier has met the same error and lists it among the findings.
  }
  recorder.fill(explanation);
  return explanation;
}

CostFormulas lower_bound(Collective collective) {
  const auto formulas = [](std::string_view rounds, std::string_view sent,
                           std::string_view received, std::string_view reduced) {
    return CostFormulas{rounds, {}, sent, received, reduced};
  };
  switch (collective) {
    case Collective::all_reduce:
      return formulas("q", "2(P-1)/P", "2(P-1)/P", "(P-1)/P");
    case Collective::reduce_scatter:
      return formulas("q", "(P-1)/P", "(P-1)/P", "(P-1)/P");
    case Collective::reduce:
      return formulas("q", "min(1,P-1)", "min(1,P-1)", "(P-1)/P");
    case Collective::broadcast:
      return formulas("q", "min(1,P-1)", "min(1,P-1)", "0");
    case Collective::all_gather:
    case Collective::all_to_all:
      return formulas("q", "(P-1)/P", "(P-1)/P", "0");
    case Collective::scatter:
      return formulas("q", "(P-1)/P", "min(1,P-1)/P", "0");
    case Collective::gather:
      return formulas("q", "min(1,P-1)/P", "(P-1)/P", "0");
    case Collective::barrier:
      return formulas("q", "0", "0", "0");
    case Collective::send_recv:
      return formulas("min(1,P-1)", "min(1,P-1)", "min(1,P-1)", "0");
  }
  return {};
}

}  // namespace rondo
