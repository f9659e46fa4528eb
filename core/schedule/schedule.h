// Schedule: a collective described as data. A value: copies are cheap and share the step source.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/schedule/layout.h"
#include "core/schedule/steps.h"
#include "rondo/types.h"

namespace rondo {

struct Schedule {
  Collective collective = Collective::all_reduce;
  std::string algorithm{};  ///< e.g. "ring"
  int ranks = 1;
  int root = 0;
  int lanes = 1;  ///< independent parts; each lane has channels and an order of its own
  int depth = 1;  ///< whole messages a channel must hold for the schedule to be free of deadlock
  Layout layout{};
  std::vector<std::string> phases{};  ///< names that Step::phase indexes, e.g. "reduce-scatter"

  /// One rank's moves in one lane, from the start. Pure: the same arguments, the same steps.
  std::function<Steps(int rank, int lane)> steps{};
};

}  // namespace rondo
