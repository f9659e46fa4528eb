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
// The segmented ring cuts each chunk in two as well, but both halves go the same way, one after the
// other. While a rank adds up one half, the other one is on the wire. In the plain ring a link
// idles from the moment that a chunk has arrived until it has been added up. The segmented ring
// takes twice the rounds and hops.
//
// Cost               rounds   hops     sent       reduced
//   all_reduce       2(P-1)   2(P-1)   2(P-1)/P   (P-1)/P
//   reduce_scatter   P-1      P-1      (P-1)/P    (P-1)/P
//   all_gather       P-1      P-1      (P-1)/P    0
//   broadcast        P-1      P-1      1          0
//   reduce           P-1      P-1      1          1
//
// Cost, segmented    rounds   hops     sent       reduced
//   all_reduce       4(P-1)   4(P-1)   2(P-1)/P   (P-1)/P
//   reduce_scatter   2(P-1)   2(P-1)   (P-1)/P    (P-1)/P
//   all_gather       2(P-1)   2(P-1)   (P-1)/P    0
//
// Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
#include "algorithms/ring.h"

#include "algorithms/chain.h"
#include "algorithms/compose.h"
#include "algorithms/geometry.h"

namespace rondo {
namespace {

Steps copy_own(Ring ring) {
  for (int part = 0; part < ring.parts; ++part)
    co_yield copy(input(ring.chunk(0, part)), output(ring.chunk(0, part)));
}

/// Partial sums travel. Each one ends in its owner's output, complete.
Steps reduce_scatter(Ring ring, int phase) {
  const int last = ring.ranks - 2;
  for (int round = 0; round <= last; ++round) {
    for (int part = 0; part < ring.parts; ++part) {
      const int out = ring.chunk(-1 - round, part);
      const int in = ring.chunk(-2 - round, part);
      co_yield send(ring.next(), round == 0 ? input(out) : scratch(0, out)).at(phase, round);
      co_yield receive_reduce(ring.previous(), input(in),
                              round == last ? output(in) : scratch(0, in))
          .at(phase, round);
    }
  }
}

/// Finished chunks travel, starting with each owner's, which lies in `own`.
Steps all_gather(Ring ring, int phase, Buffer own) {
  for (int round = 0; round < ring.ranks - 1; ++round) {
    for (int part = 0; part < ring.parts; ++part) {
      const int out = ring.chunk(-round, part);
      const bool from_input = round == 0 && own == Buffer::input;
      co_yield send(ring.next(), from_input ? input(out) : output(out)).at(phase, round);
      co_yield receive(ring.previous(), output(ring.chunk(-1 - round, part))).at(phase, round);
    }
  }
}

Steps ring_steps(Collective collective, Ring ring) {
  switch (collective) {
    case Collective::reduce_scatter:
      return ring.ranks == 1 ? copy_own(ring) : reduce_scatter(ring, 0);
    case Collective::all_gather:
      return in_order(all_gather(ring, 0, Buffer::input), copy_own(ring));
    default:
      if (ring.ranks == 1) return copy_own(ring);
      return in_order(reduce_scatter(ring, 0), all_gather(ring, 1, Buffer::output));
  }
}

Schedule ring_schedule(Collective collective, int ranks, int root, int lanes, int parts) {
  const int pieces = lanes * parts;
  Schedule schedule{
      .collective = collective,
      .algorithm = lanes > 1   ? "bidirectional_ring"
                   : parts > 1 ? "segmented_ring"
                               : "ring",
      .ranks = ranks,
      .root = root,
      .lanes = lanes,
      .layout = make_layout(collective, ranks, is_vector(collective) ? ranks * pieces : pieces)};
  if (collective != Collective::all_gather) schedule.phases.push_back("reduce-scatter");
  if (collective != Collective::reduce_scatter) schedule.phases.push_back("all-gather");
  schedule.steps = [=](int rank, int lane) {
    return ring_steps(collective, {rank, ranks, lane, lanes, parts});
  };
  return schedule;
}

Schedule renamed(Schedule schedule) {
  schedule.algorithm = "ring";
  return schedule;
}

}  // namespace

Schedule ring_all_reduce(int ranks, int root) {
  return ring_schedule(Collective::all_reduce, ranks, root, 1, 1);
}
Schedule ring_reduce_scatter(int ranks, int root) {
  return ring_schedule(Collective::reduce_scatter, ranks, root, 1, 1);
}
Schedule ring_all_gather(int ranks, int root) {
  return ring_schedule(Collective::all_gather, ranks, root, 1, 1);
}

Schedule bidirectional_ring_all_reduce(int ranks, int root) {
  return ring_schedule(Collective::all_reduce, ranks, root, 2, 1);
}
Schedule bidirectional_ring_reduce_scatter(int ranks, int root) {
  return ring_schedule(Collective::reduce_scatter, ranks, root, 2, 1);
}
Schedule bidirectional_ring_all_gather(int ranks, int root) {
  return ring_schedule(Collective::all_gather, ranks, root, 2, 1);
}

Schedule segmented_ring_all_reduce(int ranks, int root) {
  return ring_schedule(Collective::all_reduce, ranks, root, 1, 2);
}
Schedule segmented_ring_reduce_scatter(int ranks, int root) {
  return ring_schedule(Collective::reduce_scatter, ranks, root, 1, 2);
}
Schedule segmented_ring_all_gather(int ranks, int root) {
  return ring_schedule(Collective::all_gather, ranks, root, 1, 2);
}

Schedule ring_broadcast(int ranks, int root) { return renamed(chain_broadcast(ranks, root)); }
Schedule ring_reduce(int ranks, int root) { return renamed(chain_reduce(ranks, root)); }

}  // namespace rondo
