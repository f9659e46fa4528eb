#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/topology/generate.h"
#include "core/topology/measured_costs.h"
#include "core/topology/routes.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/option_checks.h"
#include "tools/rondo/page/page.h"
#include "tools/rondo/topology/file.h"
#include "tools/rondo/topology/job.h"
#include "tools/rondo/topology/options.h"
#include "tools/rondo/topology/text.h"

namespace rondo::tool {
namespace {

struct TopologyArguments {
  TopologyInput from{};
  std::string numbering = "by_host";
  int sockets = 1;
  std::string socket_speed{};
  int ports = 1;
  std::string port_speed{};
  std::string fabric = "one_switch";
  int group = 1;
  std::string fabric_speed{};
  std::string extents{};
  std::vector<std::string> profiles{};
  bool json = false;
  std::string svg{};
};

/// "25G" in seconds a byte.
double beta_of(const std::string& text, const char* option) {
  char* end = nullptr;
  double bits = std::strtod(text.c_str(), &end);
  constexpr std::string_view units = "KMGT";
  const std::size_t unit = *end == '\0' ? std::string_view::npos : units.find(*end);
  for (std::size_t i = 0; unit != std::string_view::npos && i <= unit; ++i) bits *= 1000;
  if (unit != std::string_view::npos) ++end;
  if (end == text.c_str() || *end != '\0' || !(bits > 0))
    reject("'" + text + "' (" + option + ") is not a speed", "bits per second, such as 25G");
  return 8 / bits;
}

std::vector<int> extents_of(const std::string& text) {
  std::vector<int> extents;
  for (const std::string& part : split(text, 'x')) {
    char* end = nullptr;
    const long extent = std::strtol(part.c_str(), &end, 10);
    if (part.empty() || *end != '\0' || extent < 1 || extent > most_ranks)
      reject("--extents " + text + " are no numbers of hosts", "such as 4x4x2");
    extents.push_back(static_cast<int>(extent));
  }
  return extents;
}

Topology planned(const TopologyArguments& arguments) {
  const std::vector<int> sizes = parse_hosts(arguments.from.hosts);
  Topology topology =
      on_hosts(sizes, arguments.numbering == "in_turn" ? Numbering::in_turn : Numbering::by_host);
  Host host;
  for (int port = 0; port < arguments.ports; ++port)
    host.ports.push_back(
        {.name = "port" + std::to_string(port),
         .beta = arguments.port_speed.empty() ? 0 : beta_of(arguments.port_speed, "--port-speed")});
  topology.hosts.assign(sizes.size(), host);
  if (arguments.sockets > 1) set_sockets(topology, arguments.sockets);
  if (!arguments.socket_speed.empty())
    topology.socket_beta = beta_of(arguments.socket_speed, "--socket-speed");
  topology.fabric = {.kind = fabric_by_name(arguments.fabric), .group = arguments.group};
  if (topology.fabric.kind == FabricKind::cables)
    reject("--fabric cables does not say which", "a file that --topology reads");
  if (!arguments.fabric_speed.empty())
    topology.fabric.beta = beta_of(arguments.fabric_speed, "--fabric-speed");
  if (!arguments.extents.empty()) topology.fabric.extents = extents_of(arguments.extents);
  static_cast<void>(Routes(topology));
  return topology;
}

/// Of several hosts a profile has what TCP takes, so it tells nothing of RDMA ports.
void apply_profile(const std::string& path, const TopologyArguments& arguments,
                   Topology& topology) {
  const Profile profile = read_profile(path);
  if (profile.apart() && !arguments.port_speed.empty())
    reject("--port-speed " + arguments.port_speed + " and " + path +
               ", which has the speed of ports, too",
           "leave out one of the two");
  const MeasuredCosts costs = profile.costs_of_links();
  if (to_text(costs).empty())
    reject(path + " has only sockets of one machine",
           "a profile of shared memory (rondo calibrate --transport shm) or between hosts");
  const std::vector<Host> before = topology.hosts;
  set_costs(costs, topology);
  for (std::size_t host = 0; host < before.size(); ++host)
    for (std::size_t port = 0; port < before[host].ports.size(); ++port)
      if (before[host].ports[port].rdma)
        topology.hosts[host].ports[port].beta = before[host].ports[port].beta;
}

void show_topology(const TopologyArguments& arguments) {
  bool first = true;
  Topology topology = !arguments.from.topology.empty() ? read_topology(arguments.from.topology)
                      : !arguments.from.hosts.empty()  ? planned(arguments)
                                                       : discovered(first);
  if (!first) return;
  for (const std::string& profile : arguments.profiles) apply_profile(profile, arguments, topology);
  if (arguments.json) {
    std::printf("%s\n", to_json(topology).dump(1).c_str());
  } else if (arguments.svg == "-") {
    std::fputs(topology_svg(topology).c_str(), stdout);
  } else if (!arguments.svg.empty()) {
    write_page(arguments.svg, topology_svg(topology));
    std::printf("wrote %s: open it in a browser\n", arguments.svg.c_str());
  } else {
    std::fputs(topology_text(topology).c_str(), stdout);
  }
}

void add_plan_options(CLI::App& command, TopologyArguments& arguments) {
  CLI::Option* const hosts =
      command.add_option("--hosts", arguments.from.hosts,
                         "a planned cluster instead, by the ranks on each host: 2x4, 3+5, 512x8");
  command.add_option("--topology", arguments.from.topology, "what --json printed, instead: a file")
      ->excludes(hosts);
  command
      .add_option("--numbering", arguments.numbering,
                  "by_host: all ranks of the first host come first; in_turn: one of each host")
      ->check(CLI::IsMember({"by_host", "in_turn"}))
      ->needs(hosts)
      ->capture_default_str();
  command
      .add_option("--sockets", arguments.sockets,
                  "sockets of each host; its first ranks and ports are at the first one")
      ->check(CLI::Range(1, 1024))
      ->needs(hosts)
      ->capture_default_str();
  command
      .add_option("--socket-speed", arguments.socket_speed,
                  "bits per second from a socket to the others of its host, e.g. 400G")
      ->needs(hosts);
  command.add_option("--ports", arguments.ports, "ports of each host")
      ->check(CLI::Range(1, 64))
      ->needs(hosts)
      ->capture_default_str();
  command
      .add_option("--port-speed", arguments.port_speed, "bits per second of each port, e.g. 25G")
      ->needs(hosts);
  command
      .add_option("--fabric", arguments.fabric,
                  "one_switch, fat_tree, rail_optimised, dragonfly or torus")
      ->needs(hosts)
      ->capture_default_str();
  command.add_option("--group", arguments.group, "fat_tree and dragonfly: hosts below each switch")
      ->check(CLI::Range(1, most_ranks))
      ->needs(hosts)
      ->capture_default_str();
  command
      .add_option("--fabric-speed", arguments.fabric_speed,
                  "bits per second: from each switch to the core, between two groups of a\n"
                  "dragonfly, or between neighbours of a torus")
      ->needs(hosts);
  command
      .add_option("--extents", arguments.extents, "torus: hosts along each dimension, e.g. 4x4x2")
      ->needs(hosts);
}

}  // namespace

void add_topology(CLI::App& program) {
  const auto arguments = std::make_shared<TopologyArguments>();
  CLI::App* command = program.add_subcommand(
      "topology",
      "Shows where ranks live and what links them: hosts, sockets, ports, devices. Under a "
      "launcher\n"
      "it shows the job's ranks, else this machine. Other subcommands read what --json printed, "
      "so\n"
      "a cluster can be planned that is not there.\n"
      "Examples: rondorun --hosts a:4,b:4 rondo topology\n"
      "          rondo topology --hosts 512x8 --ports 8 --port-speed 400G --json > cluster.json\n"
      "          rondo why all_reduce 16M --topology cluster.json");
  add_plan_options(*command, *arguments);
  command->add_option(
      "--profile", arguments->profiles,
      "alpha, beta and gamma from what `rondo calibrate` measured: on one host for\n"
      "memory, between hosts for the network; may be given for each");
  CLI::Option* const json = command->add_flag("--json", arguments->json, "prints JSON");
  command->add_option("--svg", arguments->svg, "writes a picture; - for standard output")
      ->excludes(json);
  command->callback([arguments, command] {
    refuse_empty(*command, {"--hosts", "--topology", "--svg"});
    show_topology(*arguments);
  });
}

}  // namespace rondo::tool
