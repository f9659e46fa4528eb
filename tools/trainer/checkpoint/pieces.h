// How the arrays of a flat model are moved: the parameters and the optimizer's states, by pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tools/trainer/optimize/optimizer.h"

namespace rondo::train {

/// Parameters are array 0, then the states.
inline std::span<float> array_of(const Range& range, std::size_t array) {
  return array == 0 ? range.parameters : range.states[array - 1];
}

/// visit(first, values): moves `count` elements through a buffer, piece by piece.
template <class Visit>
void each_piece_of(std::size_t count, Visit visit) {
  constexpr std::size_t longest = 1U << 18;
  std::vector<float> buffer(std::min(count, longest));
  for (std::size_t first = 0; first < count; first += longest)
    visit(first, std::span(buffer).first(std::min(longest, count - first)));
}

}  // namespace rondo::train
