#include "tools/rondo/explain/explain.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/schedule/contribution_domain.h"
#include "core/schedule/verify.h"
#include "rondo/error.h"
#include "tools/rondo/explain/numbers.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr int most_detailed = 64;

/// The Domain of contributions that also writes down what happens, and carries numbers along.
class Recorder {
 public:
  struct Value {
    ContributionDomain::Value contributions{};  ///< one for each chunk
    NumberMemory::Run numbers{};                ///< likewise, where there are inputs
  };

  Recorder(const Schedule& header, bool detailed, const ExplainOptions& options)
      : header_(header),
        detailed_(detailed),
        memory_(
            header, [](const Site&, const std::string&) {}, false) {
    if (options.sizes) {
      element_bytes_ = size_of(options.sizes->type);
      partition_.emplace(header.layout, options.sizes->count, element_bytes_);
    }
    if (!options.inputs.empty()) numbers_.emplace(header, partition_.value(), options.inputs);
  }

  Value read(const Site& site, const Chunk& run) {
    return {memory_.read(site, run),
            numbers_ ? numbers_->read(site.rank, run) : NumberMemory::Run()};
  }

  Value combine(const Site& site, std::span<Value> operands) {
    std::vector<ContributionDomain::Value> contributions;
    std::vector<NumberMemory::Run> numbers;
    for (Value& operand : operands) {
      contributions.push_back(std::move(operand.contributions));
      numbers.push_back(std::move(operand.numbers));
    }
    return {memory_.combine(site, contributions), NumberMemory::sum(numbers)};
  }

  Value arrive(const Site& site, int peer, Value value) {
    return {memory_.arrive(site, peer, std::move(value.contributions)), std::move(value.numbers)};
  }

  void write(const Site& site, const Chunk& run, const Value& value) {
    memory_.write(site, run, value.contributions);
    if (numbers_) numbers_->write(site.rank, run, value.numbers);
    if (!detailed_) return;
    round(site).results.push_back(
        {site.rank, site.lane, run.buffer, site.op->operands > 1, pieces(value), run});
  }

  Value depart(const Site& site, int peer, Value value) {
    ExplainedRound& at = round(site);
    ++at.message_count;
    at.totals.resize(static_cast<std::size_t>(header_.ranks));
    RankTotal& own = at.totals[static_cast<std::size_t>(site.rank)];
    const std::uint64_t bytes = bytes_of(site.op->extent);
    ++own.messages;
    own.bytes += bytes;
    if (!is_token(header_.collective))
      own.sent += static_cast<double>(value.contributions.size()) / header_.layout.chunks();
    if (detailed_) at.messages.push_back({site.rank, peer, site.lane, pieces(value), bytes});
    return value;
  }

  void fill(Explanation& explanation) {
    std::vector<RankTotal> running(static_cast<std::size_t>(header_.ranks));
    for (auto& [label, round] : rounds_) {
      round.totals.resize(running.size());
      for (std::size_t rank = 0; rank < running.size(); ++rank) {
        running[rank].messages += round.totals[rank].messages;
        running[rank].sent += round.totals[rank].sent;
        running[rank].bytes += round.totals[rank].bytes;
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

  std::uint64_t bytes_of(const Chunk& run) const {
    if (!partition_ || is_token(header_.collective)) return 0;
    return partition_->size(run) * element_bytes_;
  }

  Piece piece(const Contribution& value) const {
    if (value.fault == Contribution::Fault::undefined) return {};
    return {value.chunk, value.count, memory_.algebra().contributors(value)};
  }
  std::vector<Piece> pieces(const Value& values) const {
    std::vector<Piece> all;
    for (std::size_t i = 0; i < values.contributions.size(); ++i) {
      all.push_back(piece(values.contributions[i]));
      if (i < values.numbers.size()) all.back().numbers = values.numbers[i];
    }
    return all;
  }
  std::vector<Piece> outputs(int rank) const {
    const ChunkSpan span =
        held(header_.collective, Buffer::output, header_.layout, rank, header_.root);
    std::vector<Piece> all;
    for (int chunk = span.first; chunk < span.first + span.count; ++chunk) {
      all.push_back(piece(memory_.output(rank, chunk)));
      if (numbers_) all.back().numbers = numbers_->read(rank, rondo::output(chunk)).front();
    }
    return all;
  }

  const Schedule& header_;
  bool detailed_;
  ContributionDomain memory_;
  std::size_t element_bytes_ = 0;
  std::optional<Partition> partition_{};
  std::optional<NumberMemory> numbers_{};
  std::map<std::pair<int, std::uint32_t>, ExplainedRound> rounds_{};
};

void check_options(const Schedule& schedule, const ExplainOptions& options) {
  if (options.inputs.empty()) return;
  if (is_token(schedule.collective))
    reject("a " + std::string(name(schedule.collective)) + " carries no values",
           "a collective that moves data");
  if (!options.sizes) reject("values without a count of elements", "sizes");
}

}  // namespace

Explanation explain(const Schedule& schedule, const ExplainOptions& options) {
  check_header(schedule);
  check_options(schedule, options);
  Explanation explanation{
      .header = schedule, .sizes = options.sizes, .inputs = options.inputs, .hosts = options.hosts};
  explanation.header.steps = nullptr;
  explanation.detailed = schedule.ranks <= most_detailed;
  const Report report = verify(schedule, options.line_of);
  explanation.findings = report.findings;
  Recorder recorder(schedule, explanation.detailed, options);
  try {
    run(schedule, recorder);
    if (report.ok()) explanation.counts = count(schedule);
    if (report.ok() && options.sizes && !is_token(schedule.collective))
      explanation.bytes = simulate(schedule, partition_of(explanation),
                                   static_cast<double>(size_of(options.sizes->type)), Costs())
                              .busiest();
  } catch (const Error&) {
    // The verifier has met the same error and lists it among the findings.
  }
  recorder.fill(explanation);
  return explanation;
}

Partition partition_of(const Explanation& explanation) {
  const ExplainedSizes& sizes = explanation.sizes.value();
  return {explanation.header.layout, sizes.count, size_of(sizes.type)};
}

}  // namespace rondo::tool
