// Pairwise exchange. In round k the ranks whose numbers add up to k (mod P) swap blocks.
//
//   P = 4    round 0   0=0  1-3  2=2        a rank that meets itself copies its own block
//            round 1   0-1  2-3
//            round 2   0-2  1=1  3=3
//            round 3   0-3  1-2
//
// A block leaves before the block that takes its place arrives, so the exchange works in place.
// (The usual partners, k ahead and k behind, would overwrite blocks that are still to be sent.)
//
// Cost              rounds     sent        reduced
//   all_to_all      <= P       (P-1)/P     0
#include "algorithms/pairwise.h"

#include "algorithms/geometry.h"

namespace rondo {
namespace {

Steps all_to_all(int rank, int ranks) {
  for (int round = 0; round < ranks; ++round) {
    const int partner = wrap(round - rank, ranks);
    if (partner == rank) {
      co_yield copy(input(rank), output(rank)).at(0, round);
    } else {
      co_yield send(partner, input(partner)).at(0, round);
      co_yield receive(partner, output(partner)).at(0, round);
    }
  }
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
