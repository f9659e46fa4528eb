#include "algorithms/compose.h"

namespace rondo {

Steps in_order(Steps first, Steps second) {
  while (const Step* step = first.next()) co_yield *step;
  while (const Step* step = second.next()) co_yield *step;
}

Steps just(Step step) { co_yield step; }

Steps copy_own(RankInLane at) { co_yield copy(input(at.chunk(0)), output(at.chunk(0))); }

}  // namespace rondo
