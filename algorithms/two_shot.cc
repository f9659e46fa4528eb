// Two-shot. Everyone adds up a chunk of its own, then shows it to everybody.
//
//   reduce-scatter    chunk j of every rank --> rank j, which adds them in the order of ranks
//   all-gather        rank j's finished chunk --> every rank
//
// Cost           rounds   hops   sent       reduced
//   all_reduce   2(P-1)   2      2(P-1)/P   (P-1)/P
#include "algorithms/two_shot.h"

#include "algorithms/compose.h"
#include "algorithms/direct.h"

namespace rondo {

Schedule two_shot_all_reduce(int ranks, int root) {
  return {.collective = Collective::all_reduce,
          .algorithm = "two_shot",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::all_reduce, ranks, ranks),
          .phases = {"reduce-scatter", "all-gather"},
          .steps = [ranks](int rank, int) {
            return in_order(send_blocks(rank, ranks, 0), combine(rank, ranks, rank, 0),
                            tell_everybody(rank, ranks, output(rank), 1),
                            receive_blocks(rank, ranks, 1));
          }};
}

}  // namespace rondo
