#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "core/schedule/simulate.h"
#include "rondo/error.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/option_checks.h"
#include "tools/rondo/predict.h"

namespace rondo::tool {
namespace {

struct Arguments {
  std::string collective{};
  std::string algorithm{};
  std::string ranks = "8";
  std::string bytes = "1M";
  int root = 0;
  Costs costs = default_costs;
  std::string slice{};
  std::string profile{};
  std::string transport{};  ///< of the profile's; empty: its first
  bool ports_per_lane = false;
  bool switched = false;
};

/// Says on a terminal what is being simulated, since thousands of ranks take a while; gone with it.
class Progress {
 public:
  Progress() : shown_(::isatty(STDERR_FILENO) == 1) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

  void say(const Schedule& schedule) const {
    if (shown_)
      std::fprintf(stderr, "\r\033[Ksimulating %s with %d ranks ...", schedule.algorithm.c_str(),
                   schedule.ranks);
  }

 private:
  bool shown_;
};

/// What a profile says of calls of this size; else what the command line says.
Costs costs_of(const Arguments& arguments, int ranks, double bytes) {
  if (arguments.profile.empty()) return arguments.costs;
  const Profile profile = read_profile(arguments.profile);
  const std::string words = foreign_words(profile);
  if (!words.empty()) std::fprintf(stderr, "rondo: %s\n", words.c_str());
  return profile.costs(profile.link(arguments.transport, ranks), bytes, DataType::float32,
                       ReduceOperator::sum);
}

Simulation simulated(const Schedule& schedule, double bytes, Costs costs,
                     const Arguments& arguments) {
  if (!arguments.slice.empty())
    costs.slices = slices_of(schedule, bytes, parse_bytes(arguments.slice));
  return simulate(schedule, bytes, costs);
}

std::vector<Prediction> predicted(const Arguments& arguments, Collective collective, int ranks,
                                  double bytes, const Costs& costs) {
  const Progress progress;
  return predict(algorithms_by_name(collective, arguments.algorithm), ranks, arguments.root,
                 [&](const Schedule& schedule) {
                   progress.say(schedule);
                   return simulated(schedule, bytes, costs, arguments);
                 });
}

void simulate_ranks(const Arguments& arguments, Collective collective, int ranks, double bytes) {
  check_root(arguments.root, ranks);
  const Costs costs = costs_of(arguments, ranks, bytes);
  const std::vector<Prediction> rows = predicted(arguments, collective, ranks, bytes, costs);
  std::printf("%s, %d ranks, N = %s: %s\n", arguments.collective.c_str(), ranks,
              bytes_text(bytes).c_str(), costs_text(costs).c_str());
  std::fputs(prediction_headings().c_str(), stdout);
  for (const Prediction& row : rows)
    std::fputs(prediction_line(row, rows.front().cost.seconds).c_str(), stdout);
}

void simulate_all(Arguments arguments) {
  const Collective collective = collective_by_name(arguments.collective);
  const double bytes = parse_bytes(arguments.bytes);
  if (arguments.ports_per_lane) arguments.costs.ports = Ports::per_lane;
  if (arguments.switched) arguments.costs.ports = Ports::switched;
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
      "n bytes takes n gamma. Messages go whole, unless --slice cuts them as executors do.\n"
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
  CLI::Option* const profile = command->add_option(
      "--profile", arguments->profile,
      "what `rondo calibrate` measured, in the place of alpha, beta and gamma (float32, sum):\n"
      "ranks on one machine, whose processors move the bytes, or one on each of several hosts,\n"
      "between which it takes a switch to be");
  add_costs(*command, arguments->costs, "", profile);
  command
      ->add_option("--transport", arguments->transport,
                   "of --profile: whose costs, such as tcp; by default its first")
      ->needs(profile);
  command->add_option("--slice", arguments->slice,
                      "cut longer messages into slices of at most so many bytes, e.g. 512K, which\n"
                      "overlap; alpha is then time on the way, which holds no port");
  CLI::Option* const per_lane =
      command
          ->add_flag("--ports-per-lane", arguments->ports_per_lane,
                     "lanes have ports of their own instead of sharing the rank's")
          ->excludes(profile);
  command
      ->add_flag("--switch", arguments->switched,
                 "a switch keeps what a receiver's port cannot take yet, so that senders go on")
      ->excludes(per_lane)
      ->excludes(profile);
  command->callback([arguments] { simulate_all(*arguments); });
}

}  // namespace rondo::tool
