#include "tools/rondo/topology/here.h"

#include <set>
#include <string>
#include <thread>

#include "core/base/numa.h"
#include "core/settings/interface.h"
#include "core/settings/settings.h"
#include "core/transport/host.h"
#include "tools/rondo/gpus.h"
#include "transports/verbs/devices.h"

namespace rondo::tool {
namespace {

/// Folders "node0", "node1" and so on.
int sockets_in(const std::filesystem::path& system) {
  std::error_code none;
  int sockets = 0;
  for (const auto& each :
       std::filesystem::directory_iterator(system / "devices/system/node", none)) {
    const std::string name = each.path().filename();
    if (name.starts_with("node") && name.size() > 4) ++sockets;
  }
  return std::max(sockets, 1);
}

void add_interfaces(const std::filesystem::path& system, Host& host) {
  std::set<std::string> seen;
  for (const InterfaceAddress& each : interface_addresses(system / "class/net")) {
    if (each.name == "lo" || !each.has_carrier || !seen.insert(each.name).second) continue;
    host.ports.push_back({.name = each.name, .beta = each.beta, .socket = each.numa_node});
  }
}

void add_rdma(Host& host) {
  for (const verbs::Port& each : verbs::discover().ports)
    if (each.state == verbs::PortState::active) host.ports.push_back(verbs::in_topology(each));
}

}  // namespace

Host host_here(const std::filesystem::path& system) {
  Host host{.name = this_host({}).hostname,
            .cores = static_cast<int>(std::thread::hardware_concurrency()),
            .sockets = sockets_in(system)};
  add_interfaces(system, host);
  add_rdma(host);
  for (const std::string& name : find_gpus().names) host.devices.push_back({.name = name});
  for (rondo::Port& port : host.ports)
    if (port.socket >= host.sockets) port.socket = -1;
  return host;
}

int socket_here() { return process_numa_node(); }

}  // namespace rondo::tool
