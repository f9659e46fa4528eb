#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>

#include "core/base/log.h"
#include "core/plan/decide.h"
#include "core/schedule/collective.h"
#include "core/settings/schedule_files.h"
#include "core/settings/settings.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/format.h"
#include "tools/rondo/option_checks.h"
#include "tools/rondo/predict.h"
#include "tools/rondo/topology/options.h"
#include "tools/rondo/why/device.h"
#include "tools/rondo/why/report.h"

namespace rondo::tool {
namespace {

struct WhyInput {
  std::string collective{};
  std::string bytes{};
  std::string type = "float32";
  std::string op = "sum";
  std::string algorithm{};
  std::string schedules{};
  std::string transport{};
  std::string accumulate{};
  bool reproducible = false;
  int ranks = 4;
  TopologyInput where{};
  int root = 0;
  bool apart = false;
  bool device = false;
  std::string profile{};
  Costs costs = default_costs;
};

/// Elements of the vector, or of each block.
std::uint64_t count_of(const WhyInput& arguments, Collective collective, std::size_t element) {
  if (is_token(collective)) {
    if (!arguments.bytes.empty()) reject("a barrier has no size", "rondo why barrier");
    return 0;
  }
  if (arguments.bytes.empty())
    reject("the size of the " + arguments.collective + " is missing",
           "rondo why " + arguments.collective + " 1M");
  const double bytes = parse_bytes(arguments.bytes);
  const double blocks = is_vector(collective) ? 1 : arguments.ranks;
  const double count = std::floor(bytes / (static_cast<double>(element) * blocks));
  if (count < 1)
    reject(arguments.bytes + " is less than an element" + (blocks > 1 ? " for each rank" : ""),
           "at least " + bytes_text(static_cast<double>(element) * blocks));
  return static_cast<std::uint64_t>(count);
}

Call call_of(const WhyInput& arguments) {
  Call call{.collective = collective_by_name(arguments.collective), .root = arguments.root};
  if (!is_token(call.collective)) call.type = type_by_name(arguments.type);
  call.accumulate = call.type;
  call.op = operator_by_name(arguments.op);
  if (info(call.collective).reduces) check_applies(call.op, call.type);
  if (!applies_to(call.op, call.collective))
    reject("an average is over all ranks, and a scan's sums have fewer", "--op sum");
  call.count = count_of(arguments, call.collective, size_of(call.type));
  return call;
}

/// The profile's costs of such calls, or those of the command line if there is no profile.
Costs costs_of(const WhyInput& arguments, const Call& call, const why::Facts& facts) {
  if (arguments.profile.empty() || facts.transport.empty()) return arguments.costs;
  const Profile profile = read_profile_here(arguments.profile);
  if (profile.apart() != arguments.apart)
    reject("the profile is of ranks " +
               std::string(profile.apart() ? "on several hosts" : "on one host"),
           profile.apart()
               ? "--apart, or a profile that `rondo calibrate` made without a launcher"
               : "a profile of several hosts (see rondo calibrate --help), or no --apart");
  const auto bytes = static_cast<double>(index_space_bytes(call, arguments.ranks));
  return profile.costs(profile.link(facts.transport, arguments.ranks), bytes, call.type, call.op);
}

Topology topology_of(const WhyInput& arguments) {
  if (auto topology = topology_of(arguments.where)) return *topology;
  return {.ranks = arguments.ranks, .one_machine = !arguments.apart};
}

void tell_why(WhyInput arguments) {
  const Topology around = topology_of(arguments);
  arguments.ranks = around.ranks;
  check_ranks(arguments.ranks);
  check_root(arguments.root, arguments.ranks);
  Config config = read_config();
  if (arguments.reproducible) config.reproducible = true;
  if (!arguments.accumulate.empty()) config.accumulate_wide = arguments.accumulate == "wide";
  const Call call = resolved(call_of(arguments), config);
  if (!arguments.transport.empty()) config.transport = arguments.transport;
  if (!arguments.algorithm.empty()) config.algorithm = arguments.algorithm;
  if (!arguments.schedules.empty()) config.schedules = arguments.schedules;
  if (!config.schedules.empty()) config.schedule_texts = read_schedule_files(config.schedules);
  const AlgorithmSelection selection(config.algorithm, "--algorithm or RONDO_ALGORITHM",
                                     parse_scripts(config.schedule_texts));
  if (arguments.device) {
    if (is_token(call.collective)) reject("a barrier has no buffers", "rondo why barrier");
    std::fputs(why::report_on_devices(call, around, selection).c_str(), stdout);
    return;
  }
  const why::Facts facts = why::facts_here(config, around);
  std::fputs(why::report(call, facts, selection, costs_of(arguments, call, facts)).c_str(), stdout);
}

}  // namespace

void add_why(CLI::App& program) {
  const auto arguments = std::make_shared<WhyInput>();
  CLI::App* command = program.add_subcommand(
      "why",
      "Says how a call would go on this machine and why: transport, path (direct or by messages),\n"
      "algorithm, lanes and slices. Then it predicts the time of each algorithm. It reads the\n"
      "RONDO_ settings of the environment and starts no ranks.\n"
      "Example: rondo why all_reduce 1M --ranks 4");
  command->add_option("collective", arguments->collective, "e.g. all_reduce (see rondo list)")
      ->required();
  command->add_option("bytes", arguments->bytes,
                      "e.g. 1M: the vector, or all blocks together if there is a block per rank");
  CLI::Option* const ranks =
      command->add_option("-n,--ranks", arguments->ranks, "number of ranks")->capture_default_str();
  add_topology_options(*command, arguments->where, ranks);
  command->add_option("-t,--type", arguments->type, "element type")->capture_default_str();
  command->add_option("-o,--op", arguments->op, "operator of reductions")->capture_default_str();
  command->add_option("-r,--root", arguments->root, "root rank")->capture_default_str();
  command->add_option("-a,--algorithm", arguments->algorithm,
                      "instead of RONDO_ALGORITHM: ring, direct, ^direct, ...");
  command->add_option("-f,--file", arguments->schedules,
                      "schedules of your own, a file or a folder, instead of RONDO_SCHEDULES");
  command->add_option("--transport", arguments->transport,
                      "instead of RONDO_TRANSPORT: shm, tcp, ^shm, ...");
  command->add_flag("--reproducible", arguments->reproducible,
                    "like RONDO_REPRODUCIBLE=1: floats are added in rank order");
  command
      ->add_option("--accumulate", arguments->accumulate,
                   "instead of RONDO_ACCUMULATE: type, or wide")
      ->check(CLI::IsMember({"type", "wide"}));
  command->add_flag("--apart", arguments->apart,
                    "each rank runs on its own machine, one like this");
  command->add_flag(
      "--device", arguments->device,
      "buffers are in GPU memory, each rank has a GPU, and those of a host reach each\n"
      "other");
  CLI::Option* const profile =
      command->add_option("--profile", arguments->profile,
                          "what `rondo calibrate` measured, instead of alpha, beta and gamma");
  add_costs(*command, arguments->costs, "for the predictions: ", profile);
  exclude(*command, {"--hosts", "--topology"},  // these have costs of their own
          {"--apart", "--profile", "--alpha", "--beta", "--gamma"});
  exclude(*command, {"--device"}, {"--apart", "--profile", "--transport"});
  command->callback([arguments] { tell_why(*arguments); });
}

}  // namespace rondo::tool
