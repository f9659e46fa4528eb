#include "core/schedule/verify.h"

#include <map>
#include <optional>

#include "core/schedule/contribution_domain.h"
#include "core/schedule/hazard.h"
#include "core/schedule/races.h"
#include "rondo/error.h"

namespace rondo {
namespace {

constexpr std::size_t most_findings = 20;

class Findings {
 public:
  Findings(Report& report, const Schedule& header, const LineOf& line_of)
      : report_(report), header_(header), line_of_(line_of) {}

  /// Then a finding is only counted: to word it takes long.
  bool is_full() {
    const bool full = report_.findings.size() >= most_findings;
    report_.suppressed += full ? 1 : 0;
    return full;
  }

  void add(std::string sentence) {
    if (is_full()) return;
    report_.findings.push_back(std::move(sentence));
  }
  void add(const Site& site, const std::string& sentence) {
    if (is_full()) return;
    const std::string lane =
        "rank " + std::to_string(site.rank) + " lane " + std::to_string(site.lane) + ": ";
    add((site.op == nullptr
             ? lane
             : step_text(header_, line_of_, site.rank, site.lane, site.index, *site.op)) +
        sentence);
  }

 private:
  Report& report_;
  const Schedule& header_;
  const LineOf& line_of_;
};

void check_outputs(const Schedule& header, const ContributionDomain& domain, Findings& findings) {
  for (int rank = 0; rank < header.ranks; ++rank) {
    const ChunkSpan span =
        held(header.collective, Buffer::output, header.layout, rank, header.root);
    for (int chunk = span.first; chunk < span.first + span.count; ++chunk) {
      const std::optional<Expectation> wanted = expected(header, rank, chunk);
      if (!wanted || domain.algebra().satisfies(domain.output(rank, chunk), *wanted)) continue;
      if (findings.is_full()) continue;
      const Contribution& value = domain.output(rank, chunk);
      findings.add("rank " + std::to_string(rank) + ": output chunk " + std::to_string(chunk) +
                   " ends with " + domain.algebra().text(value) + ", expected " +
                   domain.algebra().text(*wanted) + domain.algebra().missing(value, *wanted));
    }
  }
}

/// Compares the trees by which each output chunk was combined. Only for outputs that are right.
class Trees {
 public:
  Trees(const Schedule& header, Report& report)
      : header_(header),
        report_(report),
        first_(static_cast<std::size_t>(header.layout.chunks())) {}

  void compare(ContributionDomain& domain, Findings& findings) {
    if (!info(header_.collective).reduces) return;
    std::map<int, std::uint64_t> ranked;  // by the number of ranks that contribute
    for (int rank = 0; rank < header_.ranks; ++rank)
      for (int chunk = 0; chunk < header_.layout.chunks(); ++chunk) {
        const std::optional<Expectation> wanted = expected(header_, rank, chunk);
        if (!wanted) continue;
        const auto [own, is_new] = ranked.try_emplace(wanted->ranks);
        if (is_new) own->second = domain.algebra().rank_order_tree(wanted->ranks);
        const Contribution& value = domain.output(rank, chunk);
        report_.rank_order = report_.rank_order && value.tree == own->second;
        if (!is_scan(header_.collective)) compare(value, rank, chunk, findings);
      }
  }

 private:
  struct First {
    int rank = -1;
    std::uint64_t tree = 0;
  };

  void compare(const Contribution& value, int rank, int chunk, Findings& findings) {
    First& first = first_[static_cast<std::size_t>(chunk)];
    if (first.rank < 0) first = {rank, value.tree};
    if (value.tree == first.tree) return;
    report_.order_agrees = false;
    findings.add("ranks " + std::to_string(first.rank) + " and " + std::to_string(rank) +
                 " combine chunk " + std::to_string(chunk) +
                 " in different orders: their results could differ in bits");
  }

  const Schedule& header_;
  Report& report_;
  std::vector<First> first_;
};

void conclude(const Schedule& header, const LineOf& line_of, const Outcome& outcome,
              ContributionDomain& domain, Report& report, Findings& findings) {
  report.exact = domain.algebra().exact();
  report.ops = outcome.ops;
  report.messages = outcome.messages;
  report.completed = outcome.completed;
  for (std::string& problem : describe(outcome, header, line_of)) findings.add(std::move(problem));
  if (!outcome.completed) return;
  domain.check_lanes();
  check_outputs(header, domain, findings);
  if (report.ok() && !is_token(header.collective)) Trees(header, report).compare(domain, findings);
}

/// Everything a schedule can throw is a finding too.
template <class Check>
Report collect(const Schedule& header, const LineOf& line_of, Check check) {
  Report report;
  Findings findings(report, header, line_of);
  try {
    check_header(header);
    check(report, findings);
  } catch (const Error& error) {
    findings.add(error.message());
  } catch (const std::exception& error) {
    findings.add(error.what());
  }
  return report;
}

}  // namespace

Report verify(const Schedule& schedule, const LineOf& line_of) {
  return collect(schedule, line_of, [&](Report& report, Findings& findings) {
    ContributionDomain domain(
        schedule, [&](const Site& site, const std::string& words) { findings.add(site, words); },
        true);
    const Outcome outcome = run(schedule, domain, line_of);
    conclude(schedule, line_of, outcome, domain, report, findings);
  });
}

Report verify(const Schedule& header, std::span<const Program> programs) {
  return collect(header, {}, [&](Report& report, Findings& findings) {
    ContributionDomain domain(
        header, [&](const Site& site, const std::string& words) { findings.add(site, words); },
        false, programs.empty() ? Places::buffers : programs[0].places);
    const Outcome outcome = run(header, programs, domain);
    conclude(header, {}, outcome, domain, report, findings);
    if (programs[0].stages > 0) {
      find_races(header, programs, [&](const std::string& words) { findings.add(words); });
      return;
    }
    for (int rank = 0; rank < header.ranks && outcome.completed; ++rank)
      find_hazards(header, programs[static_cast<std::size_t>(rank)], rank,
                   [&](const std::string& words) { findings.add(words); });
  });
}

}  // namespace rondo
