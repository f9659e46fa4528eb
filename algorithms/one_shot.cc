// One-shot. Each rank sends what it has to every rank that needs it, all in one round.
//
//   P = 4           0 --- 1       all_reduce      the whole vector over every edge, both ways
//                   | \ / |       reduce_scatter  block j to rank j
//                   | / \ |       all_gather      its own block to every rank
//                   2 --- 3       broadcast       the root's edges only, outwards
//                                 reduce          the root's edges only, inwards
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
//   barrier          P-1      1      0         0
#include "algorithms/builders.h"
#include "algorithms/compose.h"
#include "algorithms/direct.h"

namespace rondo {

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

}  // namespace rondo
