// Topologies that are not of this machine: for tests, verification and plans.
#pragma once

#include <numeric>
#include <vector>

#include "core/topology/topology.h"

namespace rondo {

/// How the ranks of a job are numbered.
enum class Numbering : std::uint8_t {
  by_host,  ///< all of the first host, then all of the second
  in_turn   ///< one of each host, then the next of each
};

/// The host of each rank. `sizes`: the ranks of each host.
inline std::vector<int> host_of_ranks(const std::vector<int>& sizes, Numbering numbering) {
  std::vector<int> hosts;
  if (numbering == Numbering::by_host) {
    for (std::size_t host = 0; host < sizes.size(); ++host)
      hosts.insert(hosts.end(), static_cast<std::size_t>(sizes[host]), static_cast<int>(host));
    return hosts;
  }
  std::vector<int> open(sizes.size());  // that have ranks left: full ones are not looked at again
  std::iota(open.begin(), open.end(), 0);
  for (int dealt = 0; !open.empty(); ++dealt) {
    std::erase_if(open, [&](int host) { return sizes[static_cast<std::size_t>(host)] <= dealt; });
    hosts.insert(hosts.end(), open.begin(), open.end());
  }
  return hosts;
}

/// A topology of hosts with so many ranks each. `ports`: of each host; 0: unknown.
inline Topology on_hosts(const std::vector<int>& sizes, Numbering numbering, int ports = 0) {
  Topology topology{.ranks = std::accumulate(sizes.begin(), sizes.end(), 0),
                    .links = LinkClass::network,
                    .one_machine = sizes.size() == 1,
                    .host = host_of_ranks(sizes, numbering)};
  if (ports > 0)
    topology.hosts.assign(sizes.size(),
                          {.ports = std::vector<Port>(static_cast<std::size_t>(ports))});
  return topology;
}

/// The ranks of each host on so many sockets: the first ones on the first socket, and so on. Ports
/// likewise.
inline void set_sockets(Topology& topology, int sockets) {
  const Hosts hosts(topology);
  topology.socket.clear();
  for (int rank = 0; rank < topology.ranks; ++rank)
    topology.socket.push_back(hosts.index_of(rank) * sockets / hosts.size(hosts.host_of(rank)));
  for (Host& host : topology.hosts) {
    host.sockets = sockets;
    const int ports = static_cast<int>(host.ports.size());
    for (int port = 0; port < ports; ++port)
      host.ports[static_cast<std::size_t>(port)].socket = port * sockets / ports;
  }
}

}  // namespace rondo
