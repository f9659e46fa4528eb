// Two-shot. Each rank adds up one chunk, then sends it to every rank, or to the root.
//
//   reduce-scatter    chunk j of every rank --> rank j, which adds them in rank order
//   all-gather        rank j's finished chunk --> every rank
//   gather            the same --> the root
//
// Cost           rounds   hops   sent       reduced
//   all_reduce   2(P-1)   2      2(P-1)/P   (P-1)/P
//   reduce       2(P-1)   2      1          (P-1)/P
#include "algorithms/two_shot.h"

#include "algorithms/compose.h"
#include "algorithms/direct.h"

namespace rondo {
namespace {

/// Ranks other than the root have no output. Their sums lie in scratch.
Steps reduce_to(int root, int rank, int ranks) {
  Steps scatter = send_blocks(rank, ranks, 0);
  if (rank == root)
    return in_order(std::move(scatter), combine(rank, ranks, output(rank), 0),
                    receive_blocks(rank, ranks, 1));
  const Chunk sum = scratch(ranks, rank);
  return in_order(std::move(scatter), combine(rank, ranks, sum, 0), just(send(root, sum).at(1, 0)));
}

}  // namespace

Schedule two_shot_all_reduce(int ranks, int root) {
  return {.collective = Collective::all_reduce,
          .algorithm = "two_shot",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::all_reduce, ranks, ranks),
          .phases = {"reduce-scatter", "all-gather"},
          .steps = [ranks](int rank, int) {
            return in_order(send_blocks(rank, ranks, 0), combine(rank, ranks, output(rank), 0),
                            tell_everybody(rank, ranks, output(rank), 1),
                            receive_blocks(rank, ranks, 1));
          }};
}

Schedule two_shot_reduce(int ranks, int root) {
  return {.collective = Collective::reduce,
          .algorithm = "two_shot",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::reduce, ranks, ranks),
          .phases = {"reduce-scatter", "gather"},
          .steps = [ranks, root](int rank, int) { return reduce_to(root, rank, ranks); }};
}

}  // namespace rondo
