// How fast trees could be: what no packing can be below.
#pragma once

#include <vector>

#include "tools/rondo/synthesize/packing.h"

namespace rondo::tool {

/// Seconds a byte of the whole vector, or of all blocks. Only bytes count, not the number of messages or
/// their order, and trees may be cut as finely as one likes.
struct Bound {
  double at_least = 0;  ///< no trees take less
  double reached = 0;   ///< there are trees that take that: `at_least` could not be higher
};

/// The two are 2 % apart or less, unless that takes too many rounds: for many ranks it may be 10 %.
Bound bound_of_trees(const Network& network, const std::vector<Demand>& demands);

}  // namespace rondo::tool
