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

/// Lanes that executors have channels for, and messages that each channel holds at least.
inline constexpr int most_lanes = 15;
inline constexpr int least_depth = 2;

/// Most chunks that one message of the schedule carries, on any rank: what all ranks must know to
/// cut messages alike. O(all ranks' steps), done once per plan.
int longest_message(const Schedule& schedule);

}  // namespace rondo
