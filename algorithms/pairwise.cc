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
#include "algorithms/builders.h"

namespace rondo {

Steps pairwise_all_to_all(RankInLane at) {
  for (int hops = 1; hops < at.ranks; ++hops) {
    const int ahead = at.ahead(hops);
    const int behind = at.behind(hops);
    co_yield send(ahead, input(ahead)).at(0, hops - 1);
    co_yield receive(behind, output(behind)).at(0, hops - 1);
  }
  co_yield copy(input(at.rank), output(at.rank)).at(0, at.ranks - 1);
}

}  // namespace rondo
