// Dissemination. After each round a rank has heard of twice as many ranks.
//
//   P = 5, what rank 4 has heard of    round 0 from 3:  3 4
//                                      round 1 from 2:  1 2 3 4
//                                      round 2 from 0:  all ranks, some of them twice
//
// Tokens are messages without bytes. Hearing of a rank twice does no harm.
//
// Cost        rounds   hops   sent   reduced
//   barrier   q        q      0      0
//
// Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988.
#include "algorithms/builders.h"

namespace rondo {

Steps dissemination_barrier(RankInLane at) {
  const int rounds = log2_ceiling(at.ranks);
  for (int round = 0; round < rounds; ++round) {
    const int hop = 1 << round;
    const Chunk heard = round == 0 ? input(0) : scratch(0, 0);
    const Chunk more = round == rounds - 1 ? output(0) : scratch(0, 0);
    co_yield send(at.ahead(hop), heard).at(0, round);
    co_yield receive_reduce(at.behind(hop), heard, more).at(0, round);
  }
  if (at.ranks == 1) co_yield copy(input(0), output(0));
}

}  // namespace rondo
