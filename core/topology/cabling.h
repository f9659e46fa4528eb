// Cabling: the ways of messages between hosts that are joined by cables, without a switch.
#pragma once

#include <vector>

#include "core/topology/topology.h"

namespace rondo {

class Cabling {
 public:
  Cabling() = default;
  /// Of so many hosts, by their numbers. Throws Error{invalid_argument} if a cable's end is no host,
  /// two cables join the same hosts, or no way leads to a host.
  Cabling(const std::vector<Cable>& cables, int hosts);

  /// Links of the cables on the way, in order: twice the cable's index, and one more if it is passed
  /// from `other` to `one`. Appended.
  void between(int from, int to, int first_link, std::vector<int>& into) const;

 private:
  struct Hop {
    int host = -1;  ///< the one before, on the way from the host of the row
    int link = -1;  ///< from there
  };
  Hop& hop(int from, int to) {
    return hops_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  const Hop& hop(int from, int to) const {
    return hops_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }

  std::vector<std::vector<Hop>> hops_{};  ///< by host, then by host
};

/// Where cables are all that there is: a port whose speed is not known gets that of all cables of its
/// host, and a host without ports gets such a port. Elsewhere nothing changes.
void set_cabled_ports(Topology& topology);

}  // namespace rondo
