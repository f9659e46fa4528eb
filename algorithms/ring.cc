// Ring. Everyone passes to the right; after P-1 rounds everything has been everywhere.
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
// Cost               rounds   hops     sent       reduced
//   all_reduce       2(P-1)   2(P-1)   2(P-1)/P   (P-1)/P
//   reduce_scatter   P-1      P-1      (P-1)/P    (P-1)/P
//   all_gather       P-1      P-1      (P-1)/P    0
//   broadcast        P-1      P-1      1          0
//   reduce           P-1      P-1      1          1
//
// Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
#include "algorithms/ring.h"

#include "algorithms/chain.h"
#include "algorithms/compose.h"
#include "algorithms/geometry.h"

namespace rondo {
namespace {

/// Partial sums travel; each ends, complete, in its owner's output.
Steps reduce_scatter(Ring ring, int phase) {
  const int last = ring.ranks - 2;
  for (int round = 0; round <= last; ++round) {
    const int out = ring.chunk(-1 - round);
    const int in = ring.chunk(-2 - round);
    co_yield send(ring.next(), round == 0 ? input(out) : scratch(0, out)).at(phase, round);
    co_yield receive_reduce(ring.previous(), input(in), round == last ? output(in) : scratch(0, in))
        .at(phase, round);
  }
  if (ring.ranks == 1) co_yield copy(input(ring.chunk(0)), output(ring.chunk(0)));
}

/// Finished chunks travel, starting with the one in each owner's output.
Steps all_gather(Ring ring, int phase) {
  for (int round = 0; round < ring.ranks - 1; ++round) {
    co_yield send(ring.next(), output(ring.chunk(-round))).at(phase, round);
    co_yield receive(ring.previous(), output(ring.chunk(-1 - round))).at(phase, round);
  }
}

Steps ring_steps(Collective collective, Ring ring) {
  const int own = ring.chunk(0);
  switch (collective) {
    case Collective::reduce_scatter:
      return reduce_scatter(ring, 0);
    case Collective::all_gather:
      return in_order(just(copy(input(own), output(own))), all_gather(ring, 0));
    default:
      return in_order(reduce_scatter(ring, 0), all_gather(ring, 1));
  }
}

Schedule ring_schedule(Collective collective, int ranks, int root, int lanes) {
  const int parts = is_vector(collective) ? ranks * lanes : lanes;
  Schedule schedule{.collective = collective,
                    .algorithm = lanes == 1 ? "ring" : "bidirectional_ring",
                    .ranks = ranks,
                    .root = root,
                    .lanes = lanes,
                    .layout = make_layout(collective, ranks, parts)};
  if (collective != Collective::all_gather) schedule.phases.push_back("reduce-scatter");
  if (collective != Collective::reduce_scatter) schedule.phases.push_back("all-gather");
  schedule.steps = [=](int rank, int lane) {
    return ring_steps(collective, {rank, ranks, lane, lanes});
  };
  return schedule;
}

Schedule renamed(Schedule schedule) {
  schedule.algorithm = "ring";
  return schedule;
}

}  // namespace

Schedule ring_all_reduce(int ranks, int root) {
  return ring_schedule(Collective::all_reduce, ranks, root, 1);
}
Schedule ring_reduce_scatter(int ranks, int root) {
  return ring_schedule(Collective::reduce_scatter, ranks, root, 1);
}
Schedule ring_all_gather(int ranks, int root) {
  return ring_schedule(Collective::all_gather, ranks, root, 1);
}

Schedule bidirectional_ring_all_reduce(int ranks, int root) {
  return ring_schedule(Collective::all_reduce, ranks, root, 2);
}
Schedule bidirectional_ring_reduce_scatter(int ranks, int root) {
  return ring_schedule(Collective::reduce_scatter, ranks, root, 2);
}
Schedule bidirectional_ring_all_gather(int ranks, int root) {
  return ring_schedule(Collective::all_gather, ranks, root, 2);
}

Schedule ring_broadcast(int ranks, int root) { return renamed(chain_broadcast(ranks, root)); }
Schedule ring_reduce(int ranks, int root) { return renamed(chain_reduce(ranks, root)); }

}  // namespace rondo
