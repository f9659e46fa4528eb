// Puts the phases of a schedule together.
#pragma once

#include <utility>

#include "algorithms/geometry.h"
#include "core/schedule/steps.h"

namespace rondo {

/// All of `first`, then all of `second`, and so on.
Steps in_order(Steps first, Steps second);

template <class... More>
Steps in_order(Steps first, Steps second, More... more) {
  return in_order(in_order(std::move(first), std::move(second)), std::move(more)...);
}

/// A single step.
Steps just(Step step);

/// Copies the rank's own block, or the lane's part of it, from the input to the output.
Steps copy_own(RankInLane at);

}  // namespace rondo
