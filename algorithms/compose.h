// Puts the phases of a schedule together.
#pragma once

#include <utility>
#include <vector>

#include "algorithms/geometry.h"
#include "core/schedule/steps.h"

namespace rondo {

/// All of the first, then all of the second, and so on.
Steps in_order(std::vector<Steps> parts);

template <class... More>
Steps in_order(Steps first, More... more) {
  std::vector<Steps> parts;
  parts.push_back(std::move(first));
  (parts.push_back(std::move(more)), ...);
  return in_order(std::move(parts));
}

/// A single step.
Steps just(Step step);

/// Copies the rank's own block, or the lane's part of it, from the input to the output.
Steps copy_own(RankInLane at);

}  // namespace rondo
