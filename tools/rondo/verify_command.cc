#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <set>

#include "core/plan/lower.h"
#include "core/plan/merge.h"
#include "core/plan/shared_rules.h"
#include "core/schedule/formula.h"
#include "core/schedule/simulate.h"
#include "core/schedule/verify.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/format.h"
#include "tools/rondo/verify_file.h"
#include "tools/rondo/verify_hosts.h"

namespace rondo::tool {
namespace {

constexpr int every_root_up_to = 64;
constexpr std::size_t most_findings = 10;

struct VerifyInput {
  std::string collective{};
  std::string algorithm{};
  std::string ranks = "1-64";
  bool ranks_given = false;
  std::string root = "all";
  std::string file{};
  std::string hosts{};
  std::string ranks_per_host = "1-4";
  bool all = false;
  bool lowered = false;
};

/// A form in which an algorithm may run, and the numbers of ranks at which it does.
struct FormSummary {
  std::string_view name;
  Sharing sharing;
  int merged = 0;   ///< schedules whose messages can be places
  int refused = 0;  ///< of these: a place could change before it is read
};

/// What was checked for one row of the table.
struct Summary {
  std::vector<int> ranks{};
  std::vector<int> exact{};
  bool sampled_roots = false;  ///< only some roots were checked, with many ranks
  std::uint64_t schedules = 0;
  std::uint64_t steps = 0;
  std::uint64_t programs = 0;  ///< lowered and merged ones
  std::vector<FormSummary> forms{
      {"copies", {.places = Places::copies}},
      {"buffers", {.places = Places::buffers}},
      {"sums posted", {.places = Places::buffers, .posted = Posted::sums}},
      {"all posted", {.places = Places::buffers, .posted = Posted::all}}};
  std::vector<std::string> findings{};
};

/// The roots to check: all of up to 64 ranks, some of more. A given root is the only one.
std::vector<int> roots(const VerifyInput& arguments, const Algorithm& row, int ranks) {
  if (arguments.root != "all") return {root_number(arguments.root)};
  if (!info(row.collective).has_root) return {0};
  std::set<int> some{0, 1 % ranks, ranks / 2, ranks - 1};
  for (int root = 0; ranks <= every_root_up_to && root < ranks; ++root) some.insert(root);
  return {some.begin(), some.end()};
}

void compare(const std::string& what, std::string_view formula, double counted, int ranks,
             Summary& summary) {
  const Variables variables = cost_variables(ranks);
  if (agrees(formula, counted, variables)) return;
  summary.findings.push_back(std::to_string(ranks) + " ranks: cost line says " + what + " " +
                             std::string(formula) + ", the schedule has " +
                             format("%.6g", counted));
}

/// One rank has nothing to exchange, so cost lines speak of two ranks and more.
void compare_cost(const Algorithm& row, const Schedule& schedule, Summary& summary) {
  if (schedule.ranks < 2) return;
  const CostCounts counts = count(schedule);
  compare("rounds", row.cost.rounds, counts.rounds, schedule.ranks, summary);
  compare("hops", row.cost.hops, counts.hops, schedule.ranks, summary);
  compare("sent (of N)", row.cost.sent, counts.sent, schedule.ranks, summary);
  compare("reduced (of N)", row.cost.reduced, counts.reduced, schedule.ranks, summary);
}

void add(const Report& report, const std::string& where, Summary& summary) {
  ++summary.schedules;
  summary.steps += report.ops;
  for (const std::string& finding : report.findings)
    summary.findings.push_back(where + ": " + finding);
}

/// The programs that executors run: over channels, and merged for each kind of shared memory.
void verify_programs(const Algorithm& row, const Schedule& schedule, const std::string& where,
                     Summary& summary) {
  for (const Fusion fusion : {Fusion::full, Fusion::sends_from_place}) {
    std::vector<Program> programs;
    for (int rank = 0; rank < schedule.ranks; ++rank)
      programs.push_back(lower(schedule, rank, fusion));
    Schedule header = schedule;
    header.depth = programs[0].depth;
    summary.programs += programs.size();
    for (const std::string& finding : verify(header, programs).findings)
      summary.findings.push_back(where + ", lowered: " + finding);
  }
  for (FormSummary& form : summary.forms) {
    const bool used = is_used(row.collective, row.name, form.sharing, schedule.ranks);
    const std::string merged = where + ", merged (" + std::string(form.name) + "): ";
    const auto programs = merge(schedule, form.sharing);
    if (!programs && used) summary.findings.push_back(merged + "its messages cannot be places");
    if (!programs) continue;
    ++form.merged;
    summary.programs += programs->size();
    const Report report = verify(schedule, *programs);
    if (!report.ok()) ++form.refused;
    if (used)
      for (const std::string& finding : report.findings)
        summary.findings.push_back(merged + finding);
  }
}

/// "copies, buffers 12 of 64, sums posted refused": where an algorithm runs without messages.
std::string forms_text(const Summary& summary) {
  std::string text;
  for (const FormSummary& form : summary.forms) {
    if (form.merged == 0) continue;
    const int good = form.merged - form.refused;
    text += (text.empty() ? "" : ", ") + std::string(form.name);
    if (good == 0) {
      text += " refused";
    } else if (static_cast<std::uint64_t>(good) < summary.schedules) {
      text += " " + std::to_string(good) + " of " + std::to_string(summary.schedules);
    }
  }
  return text.empty() ? "by messages only" : text;
}

void verify_ranks(const VerifyInput& arguments, const Algorithm& row, int ranks, Summary& summary) {
  bool exact = true;
  for (const int root : roots(arguments, row, ranks)) {
    check_root(root, ranks);
    const Schedule schedule = row.build(ranks, root);
    const Report report = verify(schedule);
    exact = exact && report.exact;
    std::string where = std::to_string(ranks) + " ranks";
    if (info(row.collective).has_root) where += ", root " + std::to_string(root);
    add(report, where, summary);
    if (arguments.lowered) verify_programs(row, schedule, where, summary);
    if (row.rank_order && !report.rank_order)
      summary.findings.push_back(where + ": does not reduce in rank order, as its row says");
    if (summary.findings.size() > most_findings) return;
  }
  summary.ranks.push_back(ranks);
  if (exact) summary.exact.push_back(ranks);
  if (ranks > every_root_up_to) summary.sampled_roots = true;
  compare_cost(row, row.build(ranks, roots(arguments, row, ranks).front()), summary);
}

std::string method(const Summary& summary) {
  if (summary.exact.size() == summary.ranks.size()) return "exact";
  return summary.exact.empty() ? "fingerprint" : "exact to " + std::to_string(summary.exact.back());
}

std::string root_text(const VerifyInput& arguments, const Algorithm& row, const Summary& summary) {
  if (!info(row.collective).has_root) return "-";
  if (arguments.root != "all") return arguments.root;
  if (summary.ranks.empty() || !summary.sampled_roots) return "all";
  return summary.ranks.front() > every_root_up_to ? "4 each" : "all to 64";
}

/// True when nothing was found.
bool print(const VerifyInput& arguments, const Algorithm& row, const Summary& summary) {
  const std::string cost = std::string(row.cost.rounds) + "; " + std::string(row.cost.sent) + "; " +
                           std::string(row.cost.reduced);
  const std::string column = arguments.lowered ? forms_text(summary) : cost;
  std::printf("%-14s %-18s %-12s %-9s %-12s %-38s %s\n", std::string(name(row.collective)).c_str(),
              std::string(row.name).c_str(), ranks_text(summary.ranks).c_str(),
              root_text(arguments, row, summary).c_str(), method(summary).c_str(), column.c_str(),
              summary.findings.empty() ? "ok" : "WRONG");
  for (std::size_t i = 0; i < summary.findings.size() && i < most_findings; ++i)
    std::printf("    %s\n", summary.findings[i].c_str());
  if (summary.findings.size() > most_findings)
    std::printf("    and more; larger numbers of ranks were not checked\n");
  std::fflush(stdout);
  return summary.findings.empty();
}

Summary verify_row(const VerifyInput& arguments, const Algorithm& row,
                   const std::vector<int>& ranks) {
  Summary summary;
  for (const int each : ranks) {
    verify_ranks(arguments, row, each, summary);
    if (summary.findings.size() > most_findings) break;
  }
  return summary;
}

int verify_table(const VerifyInput& arguments) {
  const std::vector<int> ranks = parse_ranks(arguments.ranks);
  std::vector<const Algorithm*> rows;
  if (arguments.all) {
    for (const Algorithm& row : algorithms())
      if (arguments.algorithm.empty() || row.name == arguments.algorithm) rows.push_back(&row);
  } else {
    rows = algorithms_by_name(collective_by_name(arguments.collective), arguments.algorithm);
  }
  if (rows.empty()) reject("no algorithm '" + arguments.algorithm + "'", "rondo list");
  std::printf("%-14s %-18s %-12s %-9s %-12s %s\n", "collective", "algorithm", "ranks", "roots",
              "contributors",
              arguments.lowered ? "in shared memory" : "cost: rounds; sent; reduced");
  std::size_t wrong = 0;
  std::uint64_t schedules = 0;
  std::uint64_t steps = 0;
  std::uint64_t programs = 0;
  for (const Algorithm* row : rows) {
    const Summary summary = verify_row(arguments, *row, ranks);
    wrong += print(arguments, *row, summary) ? 0 : 1;
    schedules += summary.schedules;
    steps += summary.steps;
    programs += summary.programs;
  }
  const std::string lowered =
      arguments.lowered ? ", " + std::to_string(programs) + " programs" : std::string();
  std::printf("%zu algorithms, %llu schedules, %llu steps%s: %s\n", rows.size(),
              static_cast<unsigned long long>(schedules), static_cast<unsigned long long>(steps),
              lowered.c_str(),
              wrong == 0 ? "all right" : (std::to_string(wrong) + " wrong").c_str());
  return wrong == 0 ? 0 : 1;
}

int verify_command(const VerifyInput& arguments) {
  const int what = (arguments.all ? 1 : 0) + (arguments.collective.empty() ? 0 : 1) +
                   (arguments.file.empty() ? 0 : 1);
  if (what != 1)
    reject("there is nothing to verify, or too much",
           "one of COLLECTIVE, --all and --file FILE, e.g. rondo verify --all");
  if (!arguments.file.empty())
    return verify_file({.file = arguments.file,
                        .ranks = arguments.ranks,
                        .ranks_given = arguments.ranks_given,
                        .root = arguments.root,
                        .hosts = arguments.hosts,
                        .ranks_per_host = arguments.ranks_per_host});
  if (arguments.hosts.empty()) return verify_table(arguments);
  return verify_hosts({.collective = arguments.collective,
                       .algorithm = arguments.algorithm,
                       .hosts = arguments.hosts,
                       .ranks_per_host = arguments.ranks_per_host,
                       .lowered = arguments.lowered});
}

}  // namespace

void add_verify(CLI::App& program, int& status) {
  const auto arguments = std::make_shared<VerifyInput>();
  CLI::App* command = program.add_subcommand(
      "verify",
      "Proves that schedules are right, at the given numbers of ranks:\n"
      "  - every output chunk has each contribution exactly once;\n"
      "  - no rank waits for ever;\n"
      "  - all ranks reduce in the same order;\n"
      "  - the costs are those of the table.\n"
      "Up to 64 ranks, contributors are exact sets and every root is tried. For more ranks,\n"
      "contributors are 64-bit fingerprints and four roots are tried.\n"
      "Exit status 1 if something is wrong.\n"
      "With --hosts: compositions of an algorithm inside hosts and one across them, for hosts of\n"
      "equal and of different sizes, their ranks numbered host by host and in turn.\n"
      "Examples: rondo verify --all --ranks 1-64\n"
      "          rondo verify --all --hosts 1-5 --ranks-per-host 1-4");
  command->add_option("collective", arguments->collective, "e.g. all_reduce (see rondo list)");
  command->add_flag("--all", arguments->all, "every collective and algorithm");
  command->add_option("-a,--algorithm", arguments->algorithm, "only this algorithm");
  command->add_option("-n,--ranks", arguments->ranks, "numbers of ranks, e.g. 4,7,1-64,1024")
      ->capture_default_str();
  command->add_option("-r,--root", arguments->root, "a root rank, or all")->capture_default_str();
  command->add_flag("--lowered", arguments->lowered,
                    "also the programs that run: over channels, and merged for shared memory.\n"
                    "'refused': a rank could change what another one has yet to read, so that\n"
                    "form is never used");
  CLI::Option* const hosts = command->add_option(
      "--hosts", arguments->hosts, "numbers of hosts, e.g. 1-5;\nor the ranks on each: 2x4, 3+5");
  command
      ->add_option("--ranks-per-host", arguments->ranks_per_host,
                   "ranks of the largest host, e.g. 1-4, where --hosts are numbers")
      ->capture_default_str()
      ->needs(hosts);
  command->add_option("-f,--file", arguments->file,
                      "verifies a schedule's text form instead, for all of --ranks, --hosts and\n"
                      "--root that it is for; - for standard input");
  command->callback([arguments, command, &status] {
    arguments->ranks_given = command->count("--ranks") > 0;
    status = verify_command(*arguments);
  });
}

}  // namespace rondo::tool
