#include "algorithms/compose.h"

namespace rondo {

Steps in_order(std::vector<Steps> parts) {
  for (Steps& part : parts)
    while (const Step* step = part.next()) co_yield *step;
}

Steps just(Step step) { co_yield step; }

Steps copy_own(RankInLane at) { co_yield copy(input(at.chunk(0)), output(at.chunk(0))); }

}  // namespace rondo
