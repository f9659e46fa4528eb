#include "tools/rondo/topology/file.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

#include "core/topology/cabling.h"
#include "core/topology/generate.h"
#include "core/topology/routes.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/json_fields.h"

namespace rondo::tool {
namespace {

constexpr const char* topology_what = "rondo topology";
constexpr int topology_schema = 1;
constexpr int most_sockets = 1024;
constexpr long long most_parts = 4LL * most_ranks;  ///< ports and devices of all hosts
constexpr std::size_t most_cables = std::size_t{1} << 20;

struct FabricName {
  FabricKind kind;
  std::string_view name;
};
constexpr std::array fabric_names{FabricName{FabricKind::one_switch, "one_switch"},
                                  FabricName{FabricKind::fat_tree, "fat_tree"},
                                  FabricName{FabricKind::rail_optimised, "rail_optimised"},
                                  FabricName{FabricKind::dragonfly, "dragonfly"},
                                  FabricName{FabricKind::torus, "torus"},
                                  FabricName{FabricKind::cables, "cables"}};

constexpr double bits_a_byte = 8;
constexpr double slowest = 1;        ///< bits a second
constexpr double fastest = 0x1p100;  ///< a power of two: none below it is written as more

Json speed_to_json(double beta) { return bits_a_byte / beta; }

/// Seconds a byte; 0 where the speed is not known.
double speed_from_json(const Json& json) {
  if (!json.contains("bits_per_second")) return 0;
  const double speed = number(json, "bits_per_second");
  if (speed < slowest || speed > fastest)
    throw JsonDefect("\"bits_per_second\" is " + json.at("bits_per_second").dump() +
                     ", not from 1 to 2^100");
  return bits_a_byte / speed;
}

/// Runs `read`, and puts the place before what it finds wrong.
template <class Read>
auto at_place(const std::string& place, const Read& read) {
  try {
    return read();
  } catch (const JsonDefect& defect) {
    throw JsonDefect(place + ": " + defect.what());
  }
}

/// A word that is mistyped must not be a word that is left out.
void demand_known(const Json& json, std::initializer_list<std::string_view> known) {
  if (!json.is_object()) throw JsonDefect("it is not an object");
  std::string all;
  for (const std::string_view each : known) all += (all.empty() ? "" : ", ") + std::string(each);
  for (const auto& [name, value] : json.items())
    if (std::ranges::find(known, name) == known.end())
      throw JsonDefect("\"" + name + "\" is unknown; known are " + all);
}

int socket_from_json(const Json& json, int sockets) {
  if (!json.contains("socket")) return -1;
  const int socket = whole(json, "socket", 0);
  if (socket >= sockets)
    throw JsonDefect("socket " + std::to_string(socket) + " of a host with " +
                     std::to_string(sockets) + ", numbered from 0");
  return socket;
}

Port port_from_json(const Json& json, int sockets) {
  demand_known(json, {"name", "kind", "bits_per_second", "socket"});
  const std::string kind = json.contains("kind") ? text(json, "kind") : "tcp";
  if (kind != "tcp" && kind != "rdma") throw JsonDefect("\"kind\" is neither tcp nor rdma");
  return {.name = text(json, "name"),
          .rdma = kind == "rdma",
          .beta = speed_from_json(json),
          .socket = socket_from_json(json, sockets)};
}

Device device_from_json(const Json& json, int sockets) {
  demand_known(json, {"name", "socket"});
  return {.name = text(json, "name"), .socket = socket_from_json(json, sockets)};
}

/// `read` of each item, by its place in the list.
template <class Item, class Read>
std::vector<Item> items(const Json& json, const char* name, const Read& read) {
  std::vector<Item> all;
  if (!json.contains(name)) return all;
  for (const Json& item : list(json, name))
    all.push_back(at_place(std::string(name) + "[" + std::to_string(all.size()) + "]",
                           [&] { return read(item); }));
  return all;
}

/// Hosts that are alike, and the ranks on each.
struct HostGroup {
  int count = 1;
  int ranks = 0;
  Host host{};
};

HostGroup group_from_json(const Json& json) {
  demand_known(json, {"count", "ranks", "name", "cores", "sockets", "ports", "devices"});
  return {.count = json.contains("count") ? whole(json, "count") : 1,
          .ranks = whole(json, "ranks"),
          .host = host_from_json(json)};
}

/// `usual`: seconds a byte where it does not say.
Cable cable_from_json(const Json& json, double usual) {
  demand_known(json, {"between", "bits_per_second"});
  const Json& ends = list(json, "between");
  if (ends.size() != 2) throw JsonDefect("\"between\" is not two hosts");
  const double beta = speed_from_json(json);
  return {.one = whole(Json{{"between", ends[0]}}, "between", 0),
          .other = whole(Json{{"between", ends[1]}}, "between", 0),
          .beta = beta > 0 ? beta : usual};
}

Fabric fabric_from_json(const Json& json) {
  demand_known(json, {"kind", "group", "bits_per_second", "extents", "cables"});
  Fabric fabric{.kind = FabricKind::one_switch, .beta = speed_from_json(json)};
  const std::string kind = text(json, "kind");
  const auto* const row = std::ranges::find(fabric_names, kind, &FabricName::name);
  if (row == fabric_names.end()) throw JsonDefect("\"kind\": there is no fabric '" + kind + "'");
  fabric.kind = row->kind;
  if (json.contains("group")) fabric.group = whole(json, "group");
  if (json.contains("cables") != (fabric.kind == FabricKind::cables))
    throw JsonDefect("\"cables\" are those of the kind cables");
  if (json.contains("cables") && list(json, "cables").size() > most_cables)
    throw JsonDefect("\"cables\" are more than " + std::to_string(most_cables));
  fabric.cables = items<Cable>(json, "cables", [&](const Json& item) {
    return cable_from_json(item, fabric.beta > 0 ? fabric.beta : default_port_beta);
  });
  if (!json.contains("extents")) return fabric;
  for (const Json& extent : list(json, "extents"))
    fabric.extents.push_back(whole(Json{{"extent", extent}}, "extent"));
  return fabric;
}

void read_costs(const Json& json, Topology& topology) {
  if (json.contains("memory")) {
    const Json& memory = json.at("memory");
    demand_known(memory, {"alpha", "beta"});
    topology.memory = {number(memory, "alpha"), number(memory, "beta")};
  }
  if (json.contains("network")) {
    demand_known(json.at("network"), {"alpha"});
    topology.network_alpha = number(json.at("network"), "alpha");
  }
  if (json.contains("between_sockets"))
    topology.socket_beta = at_place("between_sockets", [&] {
      demand_known(json.at("between_sockets"), {"bits_per_second"});
      return speed_from_json(json.at("between_sockets"));
    });
  if (json.contains("gamma")) topology.gamma = number(json, "gamma");
}

/// Where each rank lives. `sizes`: the ranks on each host.
Topology placed(const Json& json, const std::vector<int>& sizes) {
  if (!json.contains("host_of_rank")) {
    const std::string numbering = json.contains("numbering") ? text(json, "numbering") : "by_host";
    if (numbering != "by_host" && numbering != "in_turn")
      throw JsonDefect("\"numbering\" is neither by_host nor in_turn");
    return on_hosts(sizes, numbering == "in_turn" ? Numbering::in_turn : Numbering::by_host);
  }
  Topology topology = on_hosts(sizes, Numbering::by_host);
  std::vector<int> found(sizes.size());
  topology.host.clear();
  for (const Json& each : list(json, "host_of_rank")) {
    const int host = whole(Json{{"host_of_rank", each}}, "host_of_rank", 0);
    if (host >= static_cast<int>(sizes.size()))
      throw JsonDefect("\"host_of_rank\" names host " + std::to_string(host) + " of " +
                       std::to_string(sizes.size()));
    ++found[static_cast<std::size_t>(host)];
    topology.host.push_back(host);
  }
  for (std::size_t host = 0; host < sizes.size(); ++host)
    if (found[host] != sizes[host])
      throw JsonDefect("hosts[" + std::to_string(host) + "] has " + std::to_string(sizes[host]) +
                       " ranks, and \"host_of_rank\" puts " + std::to_string(found[host]) +
                       " there");
  return topology;
}

/// -1 where a rank's socket is not known.
void read_sockets(const Json& json, Topology& topology) {
  if (!json.contains("socket_of_rank")) return;
  for (const Json& each : list(json, "socket_of_rank")) {
    const std::size_t rank = topology.socket.size();
    const int socket = each == -1 ? -1 : whole(Json{{"socket_of_rank", each}}, "socket_of_rank", 0);
    if (rank >= topology.host.size())
      throw JsonDefect("\"socket_of_rank\" has more than all ranks");
    const auto host = static_cast<std::size_t>(topology.host[rank]);
    if (socket >= topology.hosts[host].sockets)
      throw JsonDefect("\"socket_of_rank\" puts rank " + std::to_string(rank) + " on socket " +
                       std::to_string(socket) + " of hosts[" + std::to_string(host) +
                       "], which has " + std::to_string(topology.hosts[host].sockets));
    topology.socket.push_back(socket);
  }
  if (topology.socket.size() < topology.host.size())
    throw JsonDefect("\"socket_of_rank\" leaves out ranks");
}

Topology topology_from_json(const Json& json) {
  demand_document(json, topology_what, "topology", topology_schema);
  demand_known(json, {"what", "schema", "hosts", "numbering", "host_of_rank", "socket_of_rank",
                      "between_sockets", "fabric", "memory", "network", "gamma"});
  field(json, "hosts");
  std::vector<int> sizes;
  std::vector<Host> hosts;
  long long ranks = 0;
  long long parts = 0;
  for (const HostGroup& group : items<HostGroup>(json, "hosts", group_from_json)) {
    ranks += static_cast<long long>(group.count) * group.ranks;
    if (ranks > most_ranks)
      throw JsonDefect("\"hosts\" have more than " + std::to_string(most_ranks) + " ranks");
    parts +=
        group.count * static_cast<long long>(group.host.ports.size() + group.host.devices.size());
    if (parts > most_parts)
      throw JsonDefect("\"hosts\" have more than " + std::to_string(most_parts) +
                       " ports and devices");
    sizes.insert(sizes.end(), static_cast<std::size_t>(group.count), group.ranks);
    hosts.insert(hosts.end(), static_cast<std::size_t>(group.count), group.host);
  }
  if (sizes.empty()) throw JsonDefect("\"hosts\" is empty");
  Topology topology = placed(json, sizes);
  topology.hosts = std::move(hosts);
  read_sockets(json, topology);
  if (json.contains("fabric"))
    topology.fabric = at_place("fabric", [&] { return fabric_from_json(json.at("fabric")); });
  read_costs(json, topology);
  return topology;
}

/// Whether the ranks lie as `numbering` deals them out.
bool lies(const Topology& topology, const std::vector<int>& sizes, Numbering numbering) {
  return topology.host == on_hosts(sizes, numbering).host;
}

Json fabric_to_json(const Fabric& fabric) {
  Json json{{"kind", name(fabric.kind)}};
  if (fabric.group > 1) json["group"] = fabric.group;
  if (fabric.beta > 0) json["bits_per_second"] = speed_to_json(fabric.beta);
  if (!fabric.extents.empty()) json["extents"] = fabric.extents;
  for (const Cable& cable : fabric.cables)
    json["cables"].push_back(
        {{"between", {cable.one, cable.other}}, {"bits_per_second", speed_to_json(cable.beta)}});
  return json;
}

Json groups_to_json(const Topology& topology, const std::vector<int>& sizes) {
  Json groups = Json::array();
  Json before;
  for (std::size_t host = 0; host < sizes.size(); ++host) {
    Json json{{"count", 1}, {"ranks", sizes[host]}};
    if (host < topology.hosts.size()) json.update(to_json(topology.hosts[host]));
    if (json == before) {
      groups.back()["count"] = groups.back()["count"].get<int>() + 1;
      continue;
    }
    before = json;
    groups.push_back(json);
  }
  return groups;
}

/// Ranks by host, in the topology's own numbers.
std::vector<int> sizes_of(const Topology& topology) {
  int hosts = topology.host.empty() ? (topology.one_machine ? 1 : topology.ranks) : 0;
  for (const int host : topology.host) hosts = std::max(hosts, host + 1);
  std::vector<int> sizes(std::max(static_cast<std::size_t>(hosts), topology.hosts.size()));
  for (int rank = 0; rank < topology.ranks; ++rank)
    ++sizes[topology.host.empty()
                ? (topology.one_machine ? 0 : static_cast<std::size_t>(rank))
                : static_cast<std::size_t>(topology.host[static_cast<std::size_t>(rank)])];
  return sizes;
}

}  // namespace

std::string_view name(FabricKind kind) {
  return std::ranges::find(fabric_names, kind, &FabricName::kind)->name;
}

FabricKind fabric_by_name(const std::string& name) {
  std::string known;
  for (const FabricName& row : fabric_names) {
    if (row.name == name) return row.kind;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  reject("there is no fabric '" + name + "'", "one of " + known);
}

Json to_json(const Host& host) {
  Json json = Json::object();
  if (!host.name.empty()) json["name"] = host.name;
  if (host.cores > 0) json["cores"] = host.cores;
  if (host.sockets > 1) json["sockets"] = host.sockets;
  for (const Port& port : host.ports) {
    Json entry{{"name", port.name}, {"kind", port.rdma ? "rdma" : "tcp"}};
    if (port.beta > 0) entry["bits_per_second"] = speed_to_json(port.beta);
    if (port.socket >= 0) entry["socket"] = port.socket;
    json["ports"].push_back(entry);
  }
  for (const Device& device : host.devices) {
    Json entry{{"name", device.name}};
    if (device.socket >= 0) entry["socket"] = device.socket;
    json["devices"].push_back(entry);
  }
  return json;
}

Host host_from_json(const Json& json) {
  Host host;
  if (json.contains("name")) host.name = text(json, "name");
  if (json.contains("cores")) host.cores = whole(json, "cores");
  if (json.contains("sockets")) host.sockets = whole(json, "sockets");
  if (host.sockets > most_sockets)
    throw JsonDefect("\"sockets\" is more than " + std::to_string(most_sockets));
  host.ports = items<Port>(json, "ports",
                           [&](const Json& item) { return port_from_json(item, host.sockets); });
  host.devices = items<Device>(
      json, "devices", [&](const Json& item) { return device_from_json(item, host.sockets); });
  std::set<std::string> names;
  for (const Port& port : host.ports)
    if (!names.insert(port.name).second) throw JsonDefect("two ports are named " + port.name);
  return host;
}

Json to_json(const Topology& topology) {
  const std::vector<int> sizes = sizes_of(topology);
  Json json{{"what", topology_what},
            {"schema", topology_schema},
            {"hosts", groups_to_json(topology, sizes)}};
  if (topology.host.empty() || lies(topology, sizes, Numbering::by_host)) {
    json["numbering"] = "by_host";
  } else if (lies(topology, sizes, Numbering::in_turn)) {
    json["numbering"] = "in_turn";
  } else {
    json["host_of_rank"] = topology.host;
  }
  if (std::ranges::any_of(topology.socket, [](int socket) { return socket >= 0; }))
    json["socket_of_rank"] = topology.socket;
  if (topology.socket_beta > 0)
    json["between_sockets"] = {{"bits_per_second", speed_to_json(topology.socket_beta)}};
  json["fabric"] = fabric_to_json(topology.fabric);
  json["memory"] = {{"alpha", topology.memory.alpha}, {"beta", topology.memory.beta}};
  json["network"] = {{"alpha", topology.network_alpha}};
  json["gamma"] = topology.gamma;
  return json;
}

Topology read_topology(const std::string& path) {
  return read_json(path, "topology", "`rondo topology --json` prints one to start from",
                   [](const Json& json) {
                     Topology topology = topology_from_json(json);
                     static_cast<void>(Routes(topology));  // a fabric that does not fit
                     set_cabled_ports(topology);
                     return topology;
                   });
}

}  // namespace rondo::tool
