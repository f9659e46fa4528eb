// One-shot. Each rank sends what it has to every rank that needs it, all in one round.
//
//   P = 4           0 --- 1       all_reduce      the whole vector over every edge, both ways
//                   | \ / |       reduce_scatter  block j to rank j
//                   | / \ |       all_gather      its own block to every rank
//                   2 --- 3       broadcast       the root's edges only, outwards
//                                 reduce          the root's edges only, inwards
//                                 barrier         a token over every edge, both ways
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
#include "algorithms/one_shot.h"

#include "algorithms/compose.h"
#include "algorithms/direct.h"

namespace rondo {
namespace {

Steps broadcast(int rank, int ranks, int root) {
  if (rank != root) return just(receive(root, output(0)));
  return in_order(tell_everybody(rank, ranks, input(0), 0), just(copy(input(0), output(0))));
}

Steps reduce_to(int root, int rank, int ranks) {
  return rank == root ? combine(rank, ranks, output(0), 0) : just(send(root, input(0)));
}

}  // namespace

Schedule one_shot_all_reduce(int ranks, int root) {
  return {.collective = Collective::all_reduce,
          .algorithm = "one_shot",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::all_reduce, ranks, 1),
          .phases = {"all-reduce"},
          .steps = [ranks](int rank, int) {
            return in_order(tell_everybody(rank, ranks, input(0), 0),
                            combine(rank, ranks, output(0), 0));
          }};
}

Schedule one_shot_reduce_scatter(int ranks, int root) {
  return {.collective = Collective::reduce_scatter,
          .algorithm = "one_shot",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::reduce_scatter, ranks, 1),
          .phases = {"reduce-scatter"},
          .steps = [ranks](int rank, int) {
            return in_order(send_blocks(rank, ranks, 0), combine(rank, ranks, output(rank), 0));
          }};
}

Schedule one_shot_all_gather(int ranks, int root) {
  return {.collective = Collective::all_gather,
          .algorithm = "one_shot",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::all_gather, ranks, 1),
          .phases = {"all-gather"},
          .steps = [ranks](int rank, int) {
            return in_order(tell_everybody(rank, ranks, input(rank), 0),
                            receive_blocks(rank, ranks, 0), just(copy(input(rank), output(rank))));
          }};
}

Schedule one_shot_broadcast(int ranks, int root) {
  return {.collective = Collective::broadcast,
          .algorithm = "one_shot",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::broadcast, ranks, 1),
          .phases = {"broadcast"},
          .steps = [ranks, root](int rank, int) { return broadcast(rank, ranks, root); }};
}

Schedule one_shot_reduce(int ranks, int root) {
  return {.collective = Collective::reduce,
          .algorithm = "one_shot",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::reduce, ranks, 1),
          .phases = {"reduce"},
          .steps = [ranks, root](int rank, int) { return reduce_to(root, rank, ranks); }};
}

Schedule one_shot_barrier(int ranks, int root) {
  return {.collective = Collective::barrier,
          .algorithm = "one_shot",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::barrier, ranks, 1),
          .phases = {"barrier"},
          .steps = [ranks](int rank, int) {
            return in_order(tell_everybody(rank, ranks, input(0), 0),
                            combine(rank, ranks, output(0), 0));
          }};
}

}  // namespace rondo
