// Estimates of a collective's time from its algorithm's cost line, without running its steps. For
// topologies whose simulation would take too long. The choice of algorithms does not go by them.
#pragma once

#include "algorithms/composition.h"
#include "core/topology/topology.h"

namespace rondo {

/// For one topology. Seconds, for a whole index space of so many bytes:
///
///   one level     hops alpha + sent beta + reduced gamma, and a quarter of alpha for each message
///                 beyond the hops. A tree or chain passes on what it got: each hop but the rank's
///                 own waits for a frame. Between hosts with several ranks each, every message
///                 counts as leaving its host, by ports that all its ranks share.
///   two levels    the parts' alphas one after the other. Bytes inside and across move at once,
///                 since slices overlap, so the slower level counts.
///
/// A fabric's links between switches are not counted. A value.
class Estimates {
 public:
  explicit Estimates(const Topology& topology);
  double seconds(const Composition& composition, double bytes) const;

 private:
  double one_level(const Algorithm& row, double bytes) const;
  double two_levels(const Composition& composition, double bytes) const;

  int ranks_;
  int hosts_;
  int largest_;  ///< ranks of the largest host
  LinkCosts memory_;
  LinkCosts network_;  ///< beta: of a host's ports together, those of the slowest host
  double gamma_;
};

}  // namespace rondo
