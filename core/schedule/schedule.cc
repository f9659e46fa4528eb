#include "core/schedule/schedule.h"

#include <algorithm>

namespace rondo {

int longest_message(const Schedule& schedule) {
  std::uint32_t longest = 1;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int lane = 0; lane < schedule.lanes; ++lane) {
      Steps steps = schedule.steps(rank, lane);
      while (const Step* step = steps.next()) {
        if (step->kind == StepKind::send) longest = std::max(longest, step->from.count);
      }
    }
  }
  return static_cast<int>(longest);
}

}  // namespace rondo
