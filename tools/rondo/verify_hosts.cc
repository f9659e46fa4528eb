#include "tools/rondo/verify_hosts.h"

#include <cstdio>
#include <numeric>
#include <set>
#include <vector>

#include "algorithms/composition.h"
#include "core/plan/lower.h"
#include "core/schedule/collective.h"
#include "core/schedule/verify.h"
#include "core/topology/generate.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/format.h"
#include "tools/rondo/topology/options.h"

namespace rondo::tool {
namespace {

constexpr std::size_t most_shown = 10;
constexpr int most_proved_ranks = 1024;  ///< proofs take memory by the square of these

/// Those that are named: "3+5". Else all hosts alike; sizes that go up; one large host among small
/// ones.
std::set<std::vector<int>> sizes_of(const std::string& hosts, const std::string& ranks) {
  if (hosts.find_first_of("x+") != std::string::npos) return {parse_hosts(hosts)};
  std::set<std::vector<int>> all;
  for (const int count : parse_ranks(hosts, "--hosts")) {
    for (const int most : parse_ranks(ranks, "--ranks-per-host")) {
      const auto size = static_cast<std::size_t>(count);
      all.insert(std::vector<int>(size, most));
      std::vector<int> growing(size);
      for (std::size_t host = 0; host < size; ++host)
        growing[host] = 1 + static_cast<int>(host) % most;
      all.insert(growing);
      std::vector<int> one_large(size, 1);
      one_large.back() = most;
      all.insert(one_large);
    }
  }
  return all;
}

struct HostsSummary {
  std::uint64_t schedules = 0;
  std::uint64_t steps = 0;
  std::uint64_t programs = 0;
  bool exact = true;
  std::vector<std::string> findings{};
};

void verify_lowered(const Schedule& schedule, const std::string& where, HostsSummary& summary) {
  std::vector<Program> programs;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    programs.push_back(lower(schedule, rank, Fusion::sends_from_place));
  Schedule header = schedule;
  header.depth = programs[0].depth;
  summary.programs += programs.size();
  for (const std::string& finding : verify(header, programs).findings)
    summary.findings.push_back(where + ", lowered: " + finding);
}

HostsSummary verify_composition(const Composition& composition,
                                const std::vector<Mixture>& mixtures, bool lowered) {
  HostsSummary summary;
  for (const Mixture& mixture : mixtures) {
    const int ranks = mixture.topology.ranks;
    const bool by_ports = !mixture.topology.hosts.empty();
    if (by_ports && !composition.across->cut.passed_on) continue;
    if (composition.socket.empty() != mixture.topology.socket.empty()) continue;
    const int roots = info(composition.across->collective).has_root ? ranks : 1;
    for (int root = 0; root < roots && summary.findings.size() <= most_shown; ++root) {
      const Schedule schedule = composition.build(mixture.topology, root);
      const std::string where = mixture.words + ", root " + std::to_string(root);
      const Report report = verify(schedule);
      ++summary.schedules;
      summary.steps += report.ops;
      summary.exact = summary.exact && report.exact;
      for (const std::string& finding : report.findings)
        summary.findings.push_back(where + ": " + finding);
      if (lowered) verify_lowered(schedule, where, summary);
    }
  }
  return summary;
}

void print_line(const Composition& composition, const HostsSummary& summary) {
  std::printf("%-14s %-40s %9llu %10llu %-12s %s\n",
              std::string(name(composition.across->collective)).c_str(), composition.name().c_str(),
              static_cast<unsigned long long>(summary.schedules),
              static_cast<unsigned long long>(summary.steps),
              summary.exact ? "exact" : "fingerprint", summary.findings.empty() ? "ok" : "WRONG");
  for (std::size_t i = 0; i < summary.findings.size() && i < most_shown; ++i)
    std::printf("    %s\n", summary.findings[i].c_str());
  std::fflush(stdout);
}

std::vector<Composition> compositions_of(const VerifyHosts& input) {
  std::vector<Composition> all;
  for (const CollectiveInfo& row : collectives) {
    if (!input.collective.empty() && row.collective != collective_by_name(input.collective))
      continue;
    for (const Levels levels : {Levels::two, Levels::three})
      for (const Composition& each : hierarchical_compositions(row.collective, levels))
        if (input.algorithm.empty() || each.name() == input.algorithm) all.push_back(each);
  }
  if (all.empty())
    reject("no composition" + (input.algorithm.empty() ? "" : " '" + input.algorithm + "'") +
               (input.collective.empty() ? "" : " of " + input.collective),
           "rondo verify --all --hosts 2, which lists them");
  return all;
}

/// The same, with 2 sockets in each host: for compositions of three levels.
void add_sockets(std::vector<Mixture>& mixtures) {
  const std::size_t before = mixtures.size();
  for (std::size_t i = 0; i < before; ++i) {
    Mixture mixture = mixtures[i];
    set_sockets(mixture.topology, 2);
    mixture.words += ", 2 sockets a host";
    mixtures.push_back(std::move(mixture));
  }
}

}  // namespace

std::vector<Mixture> mixtures_of(const std::string& hosts, const std::string& ranks_per_host) {
  std::vector<Mixture> all;
  for (const std::vector<int>& sizes : sizes_of(hosts, ranks_per_host)) {
    if (const int ranks = std::accumulate(sizes.begin(), sizes.end(), 0); ranks > most_proved_ranks)
      reject("--hosts " + hosts + " has " + std::to_string(ranks) + " ranks, too many to prove",
             "at most " + std::to_string(most_proved_ranks));
    std::string words;
    for (const int size : sizes) words += (words.empty() ? "" : "+") + std::to_string(size);
    all.push_back({words + " ranks", on_hosts(sizes, Numbering::by_host)});
    all.push_back({words + " ranks, dealt out in turn", on_hosts(sizes, Numbering::in_turn)});
    all.push_back({words + " ranks, 2 ports a host", on_hosts(sizes, Numbering::by_host, 2)});
    all.push_back({words + " ranks, dealt out in turn, 3 ports a host",
                   on_hosts(sizes, Numbering::in_turn, 3)});
  }
  return all;
}

int verify_hosts(const VerifyHosts& input) {
  const std::vector<Composition> all = compositions_of(input);
  std::vector<Mixture> mixtures = mixtures_of(input.hosts, input.ranks_per_host);
  add_sockets(mixtures);
  std::printf("%-14s %-40s %9s %10s %s\n", "collective", "composition", "schedules", "steps",
              "contributors");
  HostsSummary sum;
  std::size_t wrong = 0;
  for (const Composition& composition : all) {
    const HostsSummary summary = verify_composition(composition, mixtures, input.lowered);
    print_line(composition, summary);
    wrong += summary.findings.empty() ? 0 : 1;
    sum.schedules += summary.schedules;
    sum.programs += summary.programs;
  }
  std::printf("%zu compositions, %zu mixtures of hosts, %llu schedules, %llu programs: %s\n",
              all.size(), mixtures.size(), static_cast<unsigned long long>(sum.schedules),
              static_cast<unsigned long long>(sum.programs),
              wrong == 0 ? "all right" : (std::to_string(wrong) + " wrong").c_str());
  return wrong == 0 ? 0 : 1;
}

}  // namespace rondo::tool
