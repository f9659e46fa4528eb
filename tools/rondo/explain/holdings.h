// What every rank holds between rounds, in the textbook's picture: one buffer for each rank, in
// which sums take the place of the rank's own input.
#pragma once

#include <vector>

#include "tools/rondo/explain/explain.h"

namespace rondo::tool {

struct Holding {
  Piece piece{};  ///< piece.chunk < 0: nothing
  Buffer buffer = Buffer::input;
  bool fresh = false;  ///< written in the last of the rounds
};

/// [rank][chunk] after so many rounds; 0 is the beginning. For each chunk the first of these
/// counts: the output once it is written, the scratch with most contributions (the latest of
/// equals), the rank's own input. An all_to_all's outputs number chunks differently from its
/// inputs: there only outputs count. Only for detailed explanations.
std::vector<std::vector<Holding>> holdings(const Explanation& explanation, std::size_t rounds);

}  // namespace rondo::tool
