#include "tools/rondo/topology/here.h"

#include <array>
#include <cstdlib>
#include <fstream>
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

constexpr double megabit = 1e6;
constexpr double gigabit = 1e9;
constexpr double bits_in_byte = 8;

/// The number in a file of the kernel's; -1 where there is none.
int number_in(const std::filesystem::path& path) {
  int value = -1;
  std::ifstream(path) >> value;
  return value;
}

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

/// The kernel has speeds in Mbit/s, and none of virtual interfaces.
void add_interfaces(const std::filesystem::path& system, Host& host) {
  std::set<std::string> seen;
  for (const InterfaceAddress& each : interface_addresses()) {
    if (each.name == "lo" || !each.has_carrier || !seen.insert(each.name).second) continue;
    const std::filesystem::path folder = system / "class/net" / each.name;
    const int speed = number_in(folder / "speed");
    host.ports.push_back({.name = each.name,
                          .beta = speed > 0 ? bits_in_byte / (speed * megabit) : 0,
                          .socket = device_numa_node(folder / "device")});
  }
}

void add_rdma(Host& host) {
  for (const verbs::Port& each : verbs::discover().ports) {
    if (each.state != verbs::PortState::active) continue;
    host.ports.push_back({.name = each.device + ":" + std::to_string(each.port),
                          .rdma = true,
                          .beta = each.speed > 0 ? bits_in_byte / (each.speed * gigabit) : 0,
                          .socket = each.numa_node});
  }
}

}  // namespace

Host host_here(const std::filesystem::path& system) {
  Host host{.name = this_host({}).hostname,
            .cores = static_cast<int>(std::thread::hardware_concurrency()),
            .sockets = sockets_in(system)};
  add_interfaces(system, host);
  add_rdma(host);
  for (const std::string& name : find_gpus().names) host.devices.push_back({.name = name});
  for (Port& port : host.ports)
    if (port.socket >= host.sockets) port.socket = -1;
  return host;
}

int socket_here() { return process_numa_node(); }

}  // namespace rondo::tool
