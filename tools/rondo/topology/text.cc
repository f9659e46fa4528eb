#include "tools/rondo/topology/text.h"

#include <array>

#include "tools/rondo/arguments.h"
#include "tools/rondo/explain/hosts.h"
#include "tools/rondo/format.h"
#include "tools/rondo/topology/file.h"

namespace rondo::tool {
namespace {

std::string near(int socket) { return socket < 0 ? "" : ", socket " + std::to_string(socket); }

std::string cores_text(const Host& host) {
  if (host.cores == 0) return {};
  return "; " + counted(host.cores, "core") + ", " + counted(host.sockets, "socket");
}

/// A line for each port and device.
std::string parts_text(const Host& host) {
  std::string text;
  for (const Port& port : host.ports)
    text += "    " + std::string(port.rdma ? "RDMA" : "TCP") + " port " + port.name + ", " +
            speed_text(port.beta) + near(port.socket) + "\n";
  for (const Device& device : host.devices)
    text += "    device " + device.name + near(device.socket) + "\n";
  return text;
}

/// Hosts of the same size and description, one after the other.
struct Alike {
  int first = 0;
  int last = 0;
  int size = 0;
  std::string name{};
  std::string cores{};
  std::string sockets{};
  std::string parts{};
  std::vector<int> ranks{};
};

/// "; 4 + 4 on 2 sockets", where it is known which ranks run on which.
std::string sockets_text(const Hosts& hosts, int host) {
  const std::vector<std::vector<int>> all = hosts.sockets(host);
  if (all.size() < 2) return {};
  std::string sizes;
  for (const std::vector<int>& ranks : all)
    sizes += (sizes.empty() ? "; " : " + ") + std::to_string(ranks.size());
  return sizes + " on " + counted(all.size(), "socket");
}

std::vector<Alike> alike(const Topology& topology, const Hosts& hosts) {
  std::vector<Alike> all;
  for (int host = 0; host < hosts.count(); ++host) {
    Alike one{.first = host,
              .last = host,
              .size = hosts.size(host),
              .sockets = sockets_text(hosts, host),
              .ranks = hosts.ranks(host)};
    if (const Host* const known = described(topology, hosts, host)) {
      one.name = known->name;
      one.cores = cores_text(*known);
      one.parts = parts_text(*known);
    }
    const bool joins = !all.empty() && all.back().size == one.size && all.back().name == one.name &&
                       all.back().cores == one.cores && all.back().sockets == one.sockets &&
                       all.back().parts == one.parts;
    if (!joins) {
      all.push_back(one);
      continue;
    }
    all.back().last = host;
    all.back().ranks.insert(all.back().ranks.end(), one.ranks.begin(), one.ranks.end());
  }
  return all;
}

std::string line_of(const Alike& group) {
  const bool one = group.first == group.last;
  std::string line =
      one ? "host " + std::to_string(group.first)
          : "hosts " + std::to_string(group.first) + "-" + std::to_string(group.last) + ", each";
  if (!group.name.empty()) line += " (" + group.name + ")";
  line += ": " + counted(group.size, "rank");
  std::vector<int> ranks = group.ranks;
  std::ranges::sort(ranks);
  if (one) line += " (" + ranks_text(ranks) + ")";
  return line + group.sockets + group.cores + "\n" + group.parts;
}

/// "0-1 10 Gbit/s, 1-2 25 Gbit/s": the first ones.
std::string cables_text(const std::vector<Cable>& cables) {
  constexpr std::size_t shown = 12;
  std::string text;
  for (std::size_t at = 0; at < std::min(cables.size(), shown); ++at)
    text += (text.empty() ? "" : ", ") + std::to_string(cables[at].one) + "-" +
            std::to_string(cables[at].other) + " " + speed_text(cables[at].beta);
  return cables.size() > shown ? text + ", ..." : text;
}

std::string fabric_text(const Topology& topology) {
  const Fabric& fabric = topology.fabric;
  const std::string speed = speed_text(fabric.beta);
  const std::string group = counted(fabric.group, "host");
  switch (fabric.kind) {
    case FabricKind::fat_tree:
      return "fat tree: a switch for each " + group + ", with " + speed + " to the core";
    case FabricKind::rail_optimised:
      return "rail-optimised: a switch for the n-th port of all hosts, with " + speed +
             " to the core";
    case FabricKind::dragonfly:
      return "dragonfly: a switch for each " + group + ", and " + speed + " between any two";
    case FabricKind::torus: {
      std::string extents;
      for (const int extent : fabric.extents)
        extents += (extents.empty() ? "" : "x") + std::to_string(extent);
      return "torus of " + extents + " hosts, with " + speed + " between neighbours";
    }
    case FabricKind::cables:
      return counted(fabric.cables.size(), "cable") +
             " between hosts: " + cables_text(fabric.cables);
    default:
      return "one switch: only ports limit";
  }
}

std::string alpha_text(double seconds) { return number_text(seconds * 1e6) + " us"; }

}  // namespace

std::string speed_text(double beta) {
  if (beta <= 0) return "unknown speed";
  const double bits = 8 / beta;
  constexpr std::array<std::pair<double, const char*>, 4> units{
      {{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}}};
  for (const auto& [unit, name] : units)
    if (bits >= unit) return number_text(bits / unit) + " " + name;
  return number_text(bits) + " bit/s";
}

std::string topology_text(const Topology& topology) {
  const Hosts hosts(topology);
  std::string text =
      counted(topology.ranks, "rank") + " on " + counted(hosts.count(), "host") + "\n";
  for (const Alike& group : alike(topology, hosts)) text += line_of(group);
  if (hosts.count() > 1) text += "fabric: " + fabric_text(topology) + "\n";
  text += "in a host: alpha " + alpha_text(topology.memory.alpha) + ", " +
          number_text(1e-9 / std::max(topology.memory.beta, 1e-18)) + " GB/s\n";
  if (topology.socket_beta > 0)
    text += "between sockets of a host: " + speed_text(topology.socket_beta) + " each way\n";
  if (hosts.count() > 1)
    text += "between hosts: alpha " + alpha_text(topology.network_alpha) + "\n";
  return text;
}

}  // namespace rondo::tool
