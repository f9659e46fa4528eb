#include "tools/rondo/verify_file.h"

#include <cstdio>
#include <set>
#include <vector>

#include "core/base/text.h"
#include "core/plan/written.h"
#include "core/schedule/collective.h"
#include "core/schedule/script.h"
#include "core/schedule/verify.h"
#include "rondo/error.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/format.h"
#include "tools/rondo/verify_hosts.h"

namespace rondo::tool {
namespace {

constexpr std::size_t most_file_findings = 20;

struct FileSummary {
  std::set<int> ranks{};
  std::uint64_t schedules = 0;
  std::uint64_t steps = 0;
  bool exact = true;
  std::vector<std::string> findings{};
  std::vector<std::string> unproved{};  ///< what would take too long
};

/// The topologies that the command line names, or the only number of ranks that the text is for.
std::vector<Mixture> places_of(const Script& script, const VerifyFile& input) {
  if (!input.hosts.empty()) return mixtures_of(input.hosts, input.ranks_per_host);
  if (const int only = script.only_ranks(); only != 0 && !input.ranks_given)
    return {{"", {.ranks = only}}};
  std::vector<Mixture> all;
  for (const int ranks : parse_ranks(input.ranks))
    all.push_back({std::to_string(ranks) + " ranks", {.ranks = ranks}});
  return all;
}

/// Of the command line, as far as the text is for them.
std::vector<int> roots_of(const Script& script, const VerifyFile& input, const Topology& topology) {
  if (input.root != "all") return {root_number(input.root)};
  if (!script.for_any_root()) return {script.only_root(topology)};
  const int ranks = topology.ranks;
  std::vector<int> all;
  for (int root = 0; root < (info(script.collective()).has_root ? ranks : 1); ++root)
    all.push_back(root);
  return all;
}

/// The steps, and the programs that they become.
void verify_one(const Schedule& schedule, const LineOf& line_of, const std::string& where,
                FileSummary& summary) {
  const Report report = verify(schedule, line_of);
  ++summary.schedules;
  summary.steps += report.ops;
  summary.exact = summary.exact && report.exact;
  for (const std::string& finding : report.findings) summary.findings.push_back(where + finding);
  if (report.suppressed > 0)
    summary.findings.push_back(where + "and " + std::to_string(report.suppressed) + " more");
  if (!report.ok()) return;
  for (const Fusion fusion : {Fusion::full, Fusion::sends_from_place})
    for (const std::string& finding : lower_verified(schedule, fusion).report.findings)
      summary.findings.push_back(where + "lowered: " + finding);
}

void verify_place(const Script& script, const Mixture& place, const VerifyFile& input,
                  FileSummary& summary) {
  const int ranks = place.topology.ranks;
  summary.ranks.insert(ranks);
  const std::vector<int> roots = roots_of(script, input, place.topology);
  for (const int root : roots) {
    check_root(root, ranks);
    std::string where = place.words;
    if (roots.size() > 1) where += ", root " + std::to_string(root);
    const Schedule schedule = script.build(place.topology, root);
    if (!where.empty()) where += ": ";
    if (const std::string words = script.unprovable(place.topology, root); !words.empty()) {
      summary.unproved.push_back(where + script.source() + " " + words);
      return;
    }
    verify_one(schedule, script.line_of(place.topology, root), where, summary);
  }
}

FileSummary summary_of(const Script& script, const VerifyFile& input) {
  FileSummary summary;
  std::string unfit;
  for (const Mixture& place : places_of(script, input)) {
    if (summary.findings.size() + summary.unproved.size() >= most_file_findings) {
      summary.findings.push_back("and more: larger numbers of ranks were not tried");
      break;
    }
    try {
      unfit = script.unfit(place.topology);
      if (unfit.empty()) verify_place(script, place, input, summary);
    } catch (const Error& error) {
      if (script.only_ranks() != 0) throw;  // it is no schedule at all
      summary.ranks.insert(place.topology.ranks);
      summary.findings.push_back((place.words.empty() ? "" : place.words + ": ") + error.message());
    }
  }
  if (summary.ranks.empty()) reject(unfit, "--ranks or --hosts that it is for");
  return summary;
}

}  // namespace

int verify_file(const VerifyFile& input) {
  const Script script = read_script(input.file);
  const FileSummary summary = summary_of(script, input);
  for (const std::string& finding : summary.findings) std::printf("%s\n", finding.c_str());
  for (const std::string& words : summary.unproved) std::printf("%s\n", words.c_str());
  const bool proved = summary.findings.empty() && summary.unproved.empty();
  const bool several = summary.schedules > 1;
  std::printf("%s of %s ranks (%s%llu steps, contributors %s): %s\n",
              std::string(name(script.collective())).c_str(),
              ranks_text({summary.ranks.begin(), summary.ranks.end()}).c_str(),
              several ? (std::to_string(summary.schedules) + " schedules, ").c_str() : "",
              static_cast<unsigned long long>(summary.steps),
              summary.exact ? "exact" : "by fingerprint",
              proved                     ? "ok"
              : summary.findings.empty() ? "NOT PROVED"
                                         : "WRONG");
  return proved ? 0 : 1;
}

}  // namespace rondo::tool
