// Ring. Every rank passes a chunk to its right. After P-1 rounds each chunk has been on every rank.
//
//   reduce-scatter, P = 4       rank 0     rank 1     rank 2     rank 3
//     round 0 sends chunk         3          0          1          2
//     round 1                     2          3          0          1       a partial sum
//     round 2                     1          2          3          0       a partial sum
//     rank owns                   0          1          2          3       finished
//   all-gather
//     round 0 sends chunk         0          1          2          3       finished
//     round 1                     3          0          1          2
//     round 2                     2          3          0          1
//
// The bidirectional ring cuts each chunk in two and runs a second ring the other way in lane 1.
//
// A link has nothing to carry from the moment that a chunk has arrived until it has been added up.
// So where wires are slow, chunks are cut in slices, and one is on the wire while another one is
// added up: see core/plan/cut.h.
//
// broadcast and reduce go once round the ring, from the root or to it: the chain's steps.
//
// Cost               rounds   hops     sent       reduced
//   all_reduce       2(P-1)   2(P-1)   2(P-1)/P   (P-1)/P
//   reduce_scatter   P-1      P-1      (P-1)/P    (P-1)/P
//   all_gather       P-1      P-1      (P-1)/P    0
//   broadcast        P-1      P-1      1          0
//   reduce           P-1      P-1      1          1
//
// Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
#include "algorithms/builders.h"
#include "algorithms/compose.h"

namespace rondo {
namespace {

/// Partial sums travel. Each one ends in its owner's output, complete.
Steps reduce_scatter(RankInLane at, int phase) {
  const int last = at.ranks - 2;
  for (int round = 0; round <= last; ++round) {
    const int out = at.chunk(-1 - round);
    const int in = at.chunk(-2 - round);
    const Chunk sum = round == last ? output(in) : scratch(0, in);
    co_yield send(at.ahead(1), round == 0 ? input(out) : scratch(0, out)).at(phase, round);
    co_yield receive_reduce(at.behind(1), input(in), sum).at(phase, round);
  }
}

/// Finished chunks travel, starting with each owner's, which lies in `own`.
Steps all_gather(RankInLane at, int phase, Buffer own) {
  for (int round = 0; round < at.ranks - 1; ++round) {
    const int out = at.chunk(-round);
    const bool from_input = round == 0 && own == Buffer::input;
    co_yield send(at.ahead(1), from_input ? input(out) : output(out)).at(phase, round);
    co_yield receive(at.behind(1), output(at.chunk(-1 - round))).at(phase, round);
  }
}

}  // namespace

Steps ring_all_reduce(RankInLane at) {
  if (at.ranks == 1) return copy_own(at);
  return in_order(reduce_scatter(at, 0), all_gather(at, 1, Buffer::output));
}

Steps ring_reduce_scatter(RankInLane at) {
  return at.ranks == 1 ? copy_own(at) : reduce_scatter(at, 0);
}

Steps ring_all_gather(RankInLane at) {
  return in_order(all_gather(at, 0, Buffer::input), copy_own(at));
}

}  // namespace rondo
