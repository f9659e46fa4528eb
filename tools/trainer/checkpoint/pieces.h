// How the arrays of a flat model are moved, by pieces: the parameters, then each of the optimizer's
// states. A place counts through all arrays, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/trainer/optimize/optimizer.h"

namespace rondo::train {

/// A run that a rank holds, in its machine's memory.
struct Piece {
  std::uint64_t place;
  std::span<float> values;
};

/// Array by array. `size`: of the model.
inline std::vector<Piece> pieces_of(const std::vector<Range>& shards, std::size_t size) {
  std::vector<Piece> pieces;
  for (const Range& shard : shards) pieces.push_back({shard.begin, shard.parameters});
  for (std::size_t state = 0; !shards.empty() && state < shards[0].states.size(); ++state) {
    for (const Range& shard : shards)
      pieces.push_back({(state + 1) * size + shard.begin, shard.states[state]});
  }
  return pieces;
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
