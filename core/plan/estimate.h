// Estimates of a collective's time from its algorithm's cost line, without running its steps. The
// choice of algorithms goes by them where hosts have several ranks, and beyond 8 hosts. So they take
// microseconds, for thousands of ranks, too. Tests hold them to simulations.
#pragma once

#include "algorithms/composition.h"
#include "core/topology/topology.h"

namespace rondo {

struct Estimate {
  double seconds = 0;            ///< that a call takes in a loop of them
  double hops = 0;               ///< messages of which each needs the one before
  bool by_bytes = false;         ///< they take longer than what messages cost beside them
  bool neighbours_only = false;  ///< no message goes further across hosts
};

/// For one topology:
///
///   one level     rounds alpha + sent beta + reduced gamma. A tree or chain passes on what it got:
///                 each hop but the rank's own waits for a frame. Between hosts with several ranks
///                 each, ranks share the host's ports and queue there, and one rank uses one port.
///                 Every message counts as leaving the host, but for rings and chains, and in an
///                 all_to_all.
///   with a root   other calls are on their way meanwhile. The busiest rank's messages, each of
///                 which occupies either end for half of alpha, or its bytes, whichever takes
///                 longer; and a quarter of the time on the way to the last rank.
///   two levels    the parts' messages one after the other. What is passed on goes in a share for each
///                 port, see hierarchical.cc. Bytes inside and across move at once,
///                 since slices overlap: the slower level counts, and a quarter of the other.
///
///   written       what a user wrote is simulated, and takes as long as that.
///
/// Links between switches and between sockets are not counted. A value.
class Estimates {
 public:
  /// `topology` outlives it.
  explicit Estimates(const Topology& topology);
  /// `bytes`: the whole index space.
  Estimate of(const Composition& composition, double bytes) const;

 private:
  LinkCosts shared(int senders, int fewest, int sharing) const;
  Estimate one_level(const Algorithm& row, double bytes) const;
  Estimate two_levels(const Composition& composition, double bytes) const;
  Estimate simulated(const Script& written, double bytes) const;

  const Topology& topology_;
  Hosts hosts_;
  int smallest_;             ///< ranks of the smallest host
  double most_leaving_ = 0;  ///< blocks of an all_to_all that leave a host
  int outwards_;  ///< of the ranks of a host, at most, so many have the next rank on another host
  LinkCosts memory_;
  LinkCosts network_;  ///< beta: of a host's ports together, those of the slowest host
  double gamma_;
};

}  // namespace rondo
