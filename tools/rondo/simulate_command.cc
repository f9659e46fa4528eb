#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "bench/common/progress.h"
#include "core/schedule/collective.h"
#include "core/schedule/simulate.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/format.h"
#include "tools/rondo/option_checks.h"
#include "tools/rondo/predict.h"
#include "tools/rondo/topology/options.h"

namespace rondo::tool {
namespace {

struct SimulateInput {
  std::string collective{};
  std::string algorithm{};
  std::string file{};
  Script script{};  ///< of the file; empty: there is none
  std::string ranks = "8";
  TopologyInput where{};
  std::string bytes = "1M";
  int root = 0;
  Costs costs = default_costs;
  std::string slice{};
  std::string profile{};
  std::string transport{};  ///< one of the profile's; empty: its first
  bool ports_per_lane = false;
  bool switched = false;
  bool loop = false;
};

constexpr std::uint64_t loop_steps = (1 + looped_calls) * most_slices;  ///< for one of a schedule

/// The profile's costs of calls of this size, or those of the command line if there is no profile.
Costs costs_of(const SimulateInput& arguments, int ranks, double bytes) {
  if (arguments.profile.empty()) return arguments.costs;
  const Profile profile = read_profile_here(arguments.profile);
  return profile.costs(profile.link(arguments.transport, ranks), bytes, DataType::float32,
                       ReduceOperator::sum);
}

Simulation simulated(const Schedule& schedule, double bytes, Costs costs, const Topology& topology,
                     const SimulateInput& arguments) {
  if (!arguments.slice.empty())
    costs.slices = slices_of(schedule, bytes, parse_bytes(arguments.slice));
  else if (arguments.loop)
    return simulate_loop_as_run(schedule, bytes, topology, costs);
  if (topology.host.empty()) return simulate(schedule, bytes, costs);
  return arguments.loop ? simulate_loop(schedule, bytes, costs, topology, looped_calls)
                        : simulate(schedule, bytes, costs, topology);
}

std::vector<Prediction> predicted(const SimulateInput& arguments, Collective collective,
                                  const Topology& topology, double bytes, const Costs& costs) {
  const bench::Progress progress;
  std::vector<Composition> rows = compositions_by_name(collective, arguments.algorithm, topology);
  if (const Script& script = arguments.script) {
    if (script.collective() != collective || !script.unfit(topology).empty())
      reject(script.collective() == collective ? script.unfit(topology)
                                               : arguments.file + " is of another collective, " +
                                                     std::string(name(script.collective())),
             "a file for " + arguments.collective + " and these ranks");
    rows.push_back({.written = script});
  }
  return predict(rows, topology, arguments.root, bytes,
                 most_simulated_steps / (arguments.loop ? loop_steps : 1),
                 [&](const Schedule& schedule) {
                   progress.say("simulating " + schedule.algorithm + " with " +
                                std::to_string(schedule.ranks) + " ranks");
                   return simulated(schedule, bytes, costs, topology, arguments);
                 });
}

void simulate_on(const SimulateInput& arguments, Collective collective, const Topology& topology,
                 double bytes) {
  check_root(arguments.root, topology.ranks);
  const Costs costs = costs_of(arguments, topology.ranks, bytes);
  const bool located = !topology.host.empty();
  const std::vector<Prediction> rows = predicted(
      arguments, collective, located ? topology : with_costs(topology, costs), bytes, costs);
  std::printf("%s, %d ranks, N = %s: %s\n", arguments.collective.c_str(), topology.ranks,
              bytes_text(bytes).c_str(),
              (located ? costs_text(topology) : costs_text(costs)).c_str());
  std::fputs(predictions_text(rows, false).c_str(), stdout);
}

void simulate_all(SimulateInput arguments) {
  if (!arguments.file.empty()) arguments.script = read_script(arguments.file);
  if (arguments.collective.empty()) {
    if (!arguments.script)
      reject("no collective is named", "all_reduce (see rondo list), or --file");
    arguments.collective = name(arguments.script.collective());
  }
  const Collective collective = collective_by_name(arguments.collective);
  const double bytes = is_token(collective) ? 0 : parse_bytes(arguments.bytes);
  if (arguments.ports_per_lane) arguments.costs.ports = Ports::per_lane;
  if (arguments.switched) arguments.costs.ports = Ports::switched;
  const auto topology = topology_of(arguments.where);
  for (const auto& [given, option] : {std::pair(arguments.loop, "--loop"),
                                      std::pair(arguments.costs.processors > 0, "--processors")})
    if (given && !topology)
      reject(std::string(option) + " without hosts", "--hosts 2x4, or --topology FILE");
  if (topology) return simulate_on(arguments, collective, *topology, bytes);
  bool first = true;
  for (const int ranks : parse_ranks(arguments.ranks)) {
    if (!first) std::printf("\n");
    first = false;
    simulate_on(arguments, collective, {.ranks = ranks}, bytes);
  }
}

}  // namespace

void add_simulate(CLI::App& program) {
  const auto arguments = std::make_shared<SimulateInput>();
  CLI::App* command = program.add_subcommand(
      "simulate",
      "Predicts the time of every algorithm of a collective, fastest first. A message of n bytes\n"
      "takes alpha + n beta; meanwhile it occupies the sender's out port and the receiver's in\n"
      "port. Reducing n bytes takes n gamma. Messages travel whole unless --slice or --loop cuts "
      "them.\n"
      "The columns messages, sent and reduced are those of the busiest rank.\n"
      "Example: rondo simulate all_reduce --ranks 8 --bytes 64K --alpha 2e-6 --beta 1e-10");
  command->add_option("collective", arguments->collective,
                      "e.g. all_reduce (see rondo list); default: that of --file");
  command->add_option("-a,--algorithm", arguments->algorithm, "only this algorithm");
  command->add_option("-f,--file", arguments->file,
                      "also the schedule of this text (see rondo schedule)");
  CLI::Option* const ranks =
      command->add_option("-n,--ranks", arguments->ranks, "numbers of ranks, e.g. 8 or 4,8,16")
          ->capture_default_str();
  add_topology_options(*command, arguments->where, ranks);
  command
      ->add_option("-b,--bytes", arguments->bytes,
                   "N: the vector, or all blocks together if there is a block per rank")
      ->capture_default_str();
  command->add_option("-r,--root", arguments->root, "root rank")->capture_default_str();
  CLI::Option* const profile = command->add_option(
      "--profile", arguments->profile,
      "what `rondo calibrate` measured, instead of alpha, beta and gamma (float32, sum). On one\n"
      "machine the processors move the bytes; between hosts the model has a switch");
  add_costs(*command, arguments->costs, "", profile);
  exclude(*command, {"--hosts", "--topology"},  // these have costs of their own
          {"--profile", "--alpha", "--beta", "--gamma"});
  command
      ->add_option("--transport", arguments->transport,
                   "the transport in --profile to use, such as tcp; default: its first")
      ->needs(profile);
  command->add_option("--slice", arguments->slice,
                      "cuts messages into slices of at most so many bytes, e.g. 512K. Slices\n"
                      "overlap; alpha then occupies no port");
  CLI::Option* const per_lane =
      command
          ->add_flag("--ports-per-lane", arguments->ports_per_lane,
                     "each lane has its own ports instead of sharing those of the rank")
          ->excludes(profile);
  command
      ->add_flag("--switch", arguments->switched,
                 "a switch buffers what a receiver cannot take yet, so that senders go on")
      ->excludes(per_lane)
      ->excludes(profile);
  command->add_flag(
      "--loop", arguments->loop,
      "what each call takes where a program makes one after the other (needs --hosts\n"
      "or --topology). Ranks that are done early begin the next one. Without --slice,\n"
      "messages are cut as over TCP");
  command
      ->add_option("--processors", arguments->costs.processors,
                   "the ranks of all hosts share so many in turn, as on a testbed of one machine\n"
                   "(needs --hosts or --topology). Without it each has its own")
      ->check(CLI::Range(1, most_ranks))
      ->excludes(profile);
  command->callback([arguments] { simulate_all(*arguments); });
}

}  // namespace rondo::tool
