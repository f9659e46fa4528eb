// Estimates of a collective's time from its algorithm's cost line, without running its steps. For
// topologies whose simulation would take too long.
#pragma once

#include "algorithms/composition.h"
#include "core/topology/topology.h"

namespace rondo {

/// Seconds, for a whole index space of so many bytes:
///
///   one level     hops alpha + sent beta + reduced gamma, and a quarter of alpha for each message
///                 beyond the hops. Between hosts with several ranks each, every message counts as
///                 leaving its host, by ports that all its ranks share.
///   two levels    the parts' alphas one after the other. Bytes inside and across move at once,
///                 since slices overlap, so the slower level counts.
///
/// A fabric's links between switches are not counted.
double estimate_seconds(const Composition& composition, double bytes, const Topology& topology);

}  // namespace rondo
