#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "core/schedule/simulate.h"
#include "rondo/error.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/commands.h"

namespace rondo::tool {
namespace {

/// More steps than this take minutes; they are simulated when the algorithm is named.
constexpr std::uint64_t most_steps = 100'000'000;

struct Arguments {
  std::string collective{};
  std::string algorithm{};
  std::string ranks = "8";
  std::string bytes = "1M";
  int root = 0;
  Costs costs{.alpha = 1e-6, .beta = 1e-10, .gamma = 5e-11};
  bool ports_per_lane = false;
};

struct Row {
  const Algorithm* algorithm = nullptr;
  bool simulated = false;
  RankCost cost{};
};

/// Steps of rank 0 times ranks, counted no further than needed.
std::uint64_t rough_steps(const Schedule& schedule) {
  const auto ranks = static_cast<std::uint64_t>(schedule.ranks);
  std::uint64_t steps = 0;
  for (int lane = 0; lane < schedule.lanes; ++lane) {
    Steps all = schedule.steps(0, lane);
    while (all.next() != nullptr && steps * ranks <= most_steps) ++steps;
  }
  return steps * ranks;
}

Row simulate_row(const Algorithm& algorithm, int ranks, const Arguments& arguments, double bytes) {
  const Schedule schedule = algorithm.build(ranks, arguments.root);
  if (arguments.algorithm.empty() && rough_steps(schedule) > most_steps) return {&algorithm};
  return {&algorithm, true, simulate(schedule, bytes, arguments.costs).busiest()};
}

void print(const Row& row, double fastest) {
  const std::string algorithm(row.algorithm->name);
  if (!row.simulated) {
    std::printf("%-20s %14s   too many steps to compare; name it with --algorithm\n",
                algorithm.c_str(), "-");
    return;
  }
  std::printf("%-20s %14.3f %9.2fx %10llu %14s %14s\n", algorithm.c_str(), row.cost.seconds * 1e6,
              fastest > 0 ? row.cost.seconds / fastest : 1.0,
              static_cast<unsigned long long>(row.cost.messages), bytes_text(row.cost.sent).c_str(),
              bytes_text(row.cost.reduced).c_str());
}

void simulate_ranks(const Arguments& arguments, Collective collective, int ranks, double bytes) {
  check_root(arguments.root, ranks);
  std::vector<Row> rows;
  for (const Algorithm* algorithm : algorithms_by_name(collective, arguments.algorithm))
    rows.push_back(simulate_row(*algorithm, ranks, arguments, bytes));
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.simulated != b.simulated) return a.simulated;
    return a.cost.seconds < b.cost.seconds;
  });
  std::printf("%s, %d ranks, N = %s: alpha %g s, beta %g s/byte, gamma %g s/byte\n",
              arguments.collective.c_str(), ranks, bytes_text(bytes).c_str(), arguments.costs.alpha,
              arguments.costs.beta, arguments.costs.gamma);
  std::printf("%-20s %14s %10s %10s %14s %14s\n", "algorithm", "predicted us", "relative",
              "messages", "sent", "reduced");
  for (const Row& row : rows) print(row, rows.front().cost.seconds);
}

void simulate_all(Arguments arguments) {
  const Collective collective = collective_by_name(arguments.collective);
  const double bytes = parse_bytes(arguments.bytes);
  if (arguments.ports_per_lane) arguments.costs.ports = Ports::per_lane;
  bool first = true;
  for (const int ranks : parse_ranks(arguments.ranks)) {
    if (!first) std::printf("\n");
    first = false;
    simulate_ranks(arguments, collective, ranks, bytes);
  }
}

}  // namespace

void add_simulate(CLI::App& program) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_subcommand(
      "simulate",
      "Predicts the time of every algorithm of a collective, fastest first: a message of n bytes\n"
      "takes alpha + n beta and holds the sender's out port and the receiver's in port, reducing\n"
      "n bytes takes n gamma. Messages go whole: what pipelining in slices gains is not in it.\n"
      "Messages, sent and reduced are the busiest rank's.\n"
      "Example: rondo simulate all_reduce --ranks 8 --bytes 64K --alpha 2e-6 --beta 1e-10");
  command->add_option("collective", arguments->collective, "e.g. all_reduce (see rondo list)")
      ->required();
  command->add_option("-a,--algorithm", arguments->algorithm, "only this one");
  command->add_option("-n,--ranks", arguments->ranks, "numbers of ranks, e.g. 8 or 4,8,16")
      ->capture_default_str();
  command
      ->add_option("-b,--bytes", arguments->bytes,
                   "N: the vector, or all blocks together where there is a block per rank")
      ->capture_default_str();
  command->add_option("-r,--root", arguments->root, "root rank")->capture_default_str();
  const auto cost = [&](const char* option, double& value, const char* what) {
    command->add_option(option, value, what)->check(CLI::NonNegativeNumber)->capture_default_str();
  };
  cost("--alpha", arguments->costs.alpha, "seconds a message");
  cost("--beta", arguments->costs.beta, "seconds a byte");
  cost("--gamma", arguments->costs.gamma, "seconds a reduced byte");
  command->add_flag("--ports-per-lane", arguments->ports_per_lane,
                    "lanes have ports of their own instead of sharing the rank's");
  command->callback([arguments] { simulate_all(*arguments); });
}

}  // namespace rondo::tool
