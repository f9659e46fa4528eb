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

/// A topology of hosts with so many ranks each. `ports`: of each host; 0: unknown.
inline Topology on_hosts(const std::vector<int>& sizes, Numbering numbering, int ports = 0) {
  Topology topology{.ranks = std::accumulate(sizes.begin(), sizes.end(), 0),
                    .links = LinkClass::network,
                    .one_machine = sizes.size() == 1};
  std::vector<int> left = sizes;
  for (std::size_t host = 0; static_cast<int>(topology.host.size()) < topology.ranks;) {
    if (left[host] > 0) {
      --left[host];
      topology.host.push_back(static_cast<int>(host));
    }
    if (numbering == Numbering::in_turn || left[host] == 0) host = (host + 1) % sizes.size();
  }
  if (ports > 0)
    topology.hosts.assign(sizes.size(),
                          {.ports = std::vector<Port>(static_cast<std::size_t>(ports))});
  return topology;
}

}  // namespace rondo
