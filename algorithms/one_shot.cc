// One-shot. Each rank sends what it has to every rank that needs it, all in one round.
//
//   P = 4           0 --- 1       all_reduce      the whole vector over every edge, both ways
//                   | \ / |       reduce_scatter  block j to rank j
//                   | / \ |       all_gather      its own block to every rank
//                   2 --- 3       broadcast       the root's edges only, outwards
//                                 reduce          the root's edges only, inwards
//                                 scans           each vector to all ranks above
//                                 barrier         the same as all_reduce, with a token
//
// A rank that reduces adds all contributions at once, in rank order, and rounds once. So all ranks
// get the same bits.
//
// Cost               rounds   hops   sent      reduced
//   all_reduce       P-1      1      P-1       P-1
//   reduce_scatter   P-1      1      (P-1)/P   (P-1)/P
//   all_gather       P-1      1      (P-1)/P   0
//   broadcast        P-1      1      P-1       0
//   reduce           P-1      1      1         P-1
//   scan             P-1      1      P-1       P-1
//   exclusive_scan   P-1      1      P-1       max(0,P-2)
//   barrier          P-1      1      0         0
#include "algorithms/builders.h"
#include "algorithms/compose.h"
#include "algorithms/direct.h"

namespace rondo {
namespace {

/// Combines the vectors of the ranks below `end`, of which this rank's own may be one.
Steps combine_below(RankInLane at, int end) {
  if (end == 1) co_yield at.rank == 0 ? copy(input(0), output(0)) : receive(0, output(0));
  if (end < 2) co_return;
  for (int rank = 0; rank < end; ++rank)
    co_yield (rank == at.rank ? copy(input(0), scratch(rank, 0)) : receive(rank, scratch(rank, 0)));
  co_yield reduce(scratch(0, 0), end, output(0));
}

Steps tell_ranks_above(RankInLane at) {
  for (int rank = at.rank + 1; rank < at.ranks; ++rank) co_yield send(rank, input(0));
}

}  // namespace

Steps one_shot_all_reduce(RankInLane at) {
  return in_order(tell_everybody(at, input(0), 0), combine(at, output(0), 0));
}

Steps one_shot_reduce_scatter(RankInLane at) {
  return in_order(send_blocks(at, 0), combine(at, output(at.rank), 0));
}

Steps one_shot_all_gather(RankInLane at) {
  return in_order(tell_everybody(at, input(at.rank), 0), receive_blocks(at, 0), copy_own(at));
}

Steps one_shot_broadcast(RankInLane at) {
  if (at.rank != at.root) return just(receive(at.root, output(0)));
  return in_order(tell_everybody(at, input(0), 0), just(copy(input(0), output(0))));
}

Steps one_shot_reduce(RankInLane at) {
  return at.rank == at.root ? combine(at, output(0), 0) : just(send(at.root, input(0)));
}

Steps one_shot_scan(RankInLane at) {
  return in_order(tell_ranks_above(at), combine_below(at, at.rank + 1));
}

Steps one_shot_exclusive_scan(RankInLane at) {
  return in_order(tell_ranks_above(at), combine_below(at, at.rank));
}

}  // namespace rondo
