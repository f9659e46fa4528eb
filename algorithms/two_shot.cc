// Two-shot. Each rank adds up one chunk, then sends it to every rank, or to the root.
//
//   reduce-scatter    chunk j of every rank --> rank j, which adds them in rank order
//   all-gather        rank j's finished chunk --> every rank
//   gather            the same --> the root
//
// Cost           rounds   hops   sent       reduced
//   all_reduce   2(P-1)   2      2(P-1)/P   (P-1)/P
//   reduce       2(P-1)   2      1          (P-1)/P
#include "algorithms/builders.h"
#include "algorithms/compose.h"
#include "algorithms/direct.h"

namespace rondo {

Steps two_shot_all_reduce(RankInLane at) {
  return in_order(send_blocks(at, 0), combine(at, output(at.rank), 0),
                  tell_everybody(at, output(at.rank), 1), receive_blocks(at, 1));
}

/// Ranks other than the root have no output. Their sums lie in scratch.
Steps two_shot_reduce(RankInLane at) {
  const bool is_root = at.rank == at.root;
  const Chunk sum = is_root ? output(at.rank) : scratch(at.ranks, at.rank);
  return in_order(send_blocks(at, 0), combine(at, sum, 0),
                  is_root ? receive_blocks(at, 1) : just(send(at.root, sum).at(1, 0)));
}

}  // namespace rondo
