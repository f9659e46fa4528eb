// Bruck. A block for the rank d ahead travels by the powers of two that add up to d, longest first.
// Blocks that take the same hop share a message.
//
//   P = 6. A block is named by its whole distance d. Each round sends these:
//
//     round 0   4 ranks ahead           4 5     as they lie in the input
//     round 1   2 ranks ahead       2 3         copied together
//     round 2   1 rank ahead      1   3   5     copied together; 3 and 5 came from others
//
// Each round sends about half of all blocks, so bytes grow with the rounds. That pays while a
// message costs more than the bytes in it.
//
// Scratch slot k holds the blocks that arrived over a hop of 2^k, and after them those that leave
// over it. Both are in the order of their distances, so every rank knows what lies where. The first
// message leaves without a copy.
//
// Cost           rounds   hops   sent        reduced
//   all_to_all   q        q      ones(P)/P   0
//
// ones(P): the number of one bits in all numbers below P; P q/2 where P is a power of two.
//
// Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications in
// multiport message-passing systems, 1997.
#include <algorithm>
#include <bit>

#include "algorithms/builders.h"

namespace rondo {
namespace {

/// How many of the distances 0, 1, ..., below `distance` have `hop` (a power of two) in them.
int hopping(int distance, int hop) {
  return distance / (2 * hop) * hop + std::max(0, distance % (2 * hop) - hop);
}

/// `count` blocks, the first of which has the whole distance `distance`. All of them have already
/// taken the hops in `travelled`, a part of that distance.
Chunk blocks(RankInLane at, int distance, int travelled, int count) {
  if (travelled == 0) return input(at.ahead(distance), count);
  const int last = lowest_bit(travelled);
  return scratch(std::countr_zero(static_cast<unsigned>(last)), hopping(distance, last), count);
}

}  // namespace

Steps bruck_all_to_all(RankInLane at) {
  const int rounds = log2_ceiling(at.ranks);
  for (int round = 0; round < rounds; ++round) {
    const int slot = rounds - 1 - round;
    const int hop = 1 << slot;
    const int count = hopping(at.ranks, hop);
    // Runs of distances that contain this hop. Runs differ in their longer hops.
    for (int longer = 0; round > 0 && longer + hop < at.ranks; longer += 2 * hop) {
      const int run = std::min(hop, at.ranks - longer - hop);
      const int place = count + hopping(longer, hop);
      co_yield copy(blocks(at, longer + hop, longer, run), scratch(slot, place, run)).at(0, round);
    }
    const Chunk leaving = round > 0 ? scratch(slot, count, count) : input(at.ahead(hop), count);
    co_yield send(at.ahead(hop), leaving).at(0, round);
    co_yield receive(at.behind(hop), scratch(slot, 0, count)).at(0, round);
  }
  for (int distance = 0; distance < at.ranks; ++distance) {
    co_yield copy(blocks(at, distance, distance, 1), output(at.behind(distance))).at(1, 0);
  }
}

}  // namespace rondo
