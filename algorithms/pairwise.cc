// Pairwise exchange. Every rank sends to the next rank, then to the one after that, and so on.
//
//   P = 4    round 0   0 -> 1 -> 2 -> 3 -> 0
//            round 1   0 -> 2 -> 0,  1 -> 3 -> 1
//            round 2   0 -> 3 -> 2 -> 1 -> 0
//
// In each round every rank sends one message and receives one. It copies its own block.
//
// Cost           rounds   hops   sent      reduced
//   all_to_all   P-1      P-1    (P-1)/P   0
#include "algorithms/pairwise.h"

#include "algorithms/geometry.h"

namespace rondo {
namespace {

Steps all_to_all(int rank, int ranks) {
  for (int hops = 1; hops < ranks; ++hops) {
    const int ahead = wrap(rank + hops, ranks);
    const int behind = wrap(rank - hops, ranks);
    co_yield send(ahead, input(ahead)).at(0, hops - 1);
    co_yield receive(behind, output(behind)).at(0, hops - 1);
  }
  co_yield copy(input(rank), output(rank)).at(0, ranks - 1);
}

}  // namespace

Schedule pairwise_all_to_all(int ranks, int root) {
  return {.collective = Collective::all_to_all,
          .algorithm = "pairwise",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::all_to_all, ranks, 1),
          .phases = {"exchange"},
          .steps = [ranks](int rank, int) { return all_to_all(rank, ranks); }};
}

}  // namespace rondo
