// Looks for the schedule that the simulator finds fastest: packings with few or many trees, in haste
// or not, in one lane or several; then small changes of the best.
#pragma once

#include "core/schedule/schedule.h"
#include "tools/rondo/synthesize/packing.h"

namespace rondo::tool {

struct Synthesized {
  Schedule schedule{};
  int tried = 0;  ///< schedules
};

/// What each of so many calls takes in a loop by the simulator, and not less than the schedule's busiest
/// link needs: the first and the last call of a loop hide some of that.
double seconds_in_loop(const Schedule& schedule, double bytes, const Topology& topology,
                       const Network& network, int calls);

struct SearchInput {
  Collective collective = Collective::all_reduce;
  int root = 0;
  double bytes = 0;                     ///< of the vector, or of all blocks
  int pieces = 0;                       ///< of each block; 0: what is fastest
  double effort = 1;                    ///< 1: a minute or so for many ranks
  std::size_t most_messages = 1 << 14;  ///< in the schedule, so that its text is not too long
};

/// Always the same for the same arguments.
Synthesized synthesize(const SearchInput& input, const Topology& topology, const Network& network);

}  // namespace rondo::tool
