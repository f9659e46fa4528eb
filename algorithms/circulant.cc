// Circulant. Each round halves what is still to be added up, for any number of ranks.
//
//   skips, P = 6:  6  3  2  1     as one rank sees it; block 0 is its own:
//
//   reduce-scatter   holds partial sums of   0 1 2 3 4 5
//     round 0        sends 3 ranks ahead           3 4 5     adds what comes to 0 1 2
//     round 1        sends 2 ranks ahead         2           adds what comes to 0
//     round 2        sends 1 rank ahead        1             adds what comes to 0: finished
//   all-gather       the same backwards: round 0 fetches block 1 from the rank ahead, ...
//
// Cost               rounds   hops   sent       reduced
//   all_reduce       2q       2q     2(P-1)/P   (P-1)/P
//   reduce_scatter   q        q      (P-1)/P    (P-1)/P
//   all_gather       q        q      (P-1)/P    0
//
// Traeff: Optimal, non-pipelined reduce-scatter and allreduce algorithms, 2024.
#include "algorithms/builders.h"
#include "algorithms/compose.h"

namespace rondo {
namespace {

/// Ends with the sum of block `rank` in output[rank].
Steps reduce_scatter(RankInLane at, int phase) {
  const std::vector<int> skips = circulant_skips(at.ranks);
  const int rounds = static_cast<int>(skips.size()) - 1;
  for (int round = 0; round < rounds; ++round) {
    const int skip = skips[round + 1];
    const int count = skips[round] - skip;
    const int ahead = at.ahead(skip);
    const int behind = at.behind(skip);
    const auto sums = [&](int block, int blocks) {
      return round == 0 ? input(block, blocks) : scratch(0, block, blocks);
    };
    co_yield send(ahead, sums(ahead, count)).at(phase, round);
    const Chunk into = round == rounds - 1 ? output(at.rank) : scratch(0, at.rank, count);
    co_yield receive_reduce(behind, sums(at.rank, count), into).at(phase, round);
    // An odd number of blocks: the middle one got nothing and joins the others' buffer.
    const int middle = at.ahead(count);
    if (round == 0 && count < skip) {
      co_yield copy(input(middle), scratch(0, middle)).at(phase, round);
    }
  }
  if (at.ranks == 1) co_yield copy(input(at.rank), output(at.rank));
}

/// Begins with output[rank] of every rank.
Steps all_gather(RankInLane at, int phase) {
  const std::vector<int> skips = circulant_skips(at.ranks);
  const int rounds = static_cast<int>(skips.size()) - 1;
  for (int round = 0; round < rounds; ++round) {
    const int skip = skips[rounds - round];
    const int count = skips[rounds - round - 1] - skip;
    const int ahead = at.ahead(skip);
    const int behind = at.behind(skip);
    co_yield send(behind, output(at.rank, count)).at(phase, round);
    co_yield receive(ahead, output(ahead, count)).at(phase, round);
  }
}

}  // namespace

std::vector<int> circulant_skips(int ranks) {
  std::vector<int> skips{ranks};
  while (skips.back() > 1) skips.push_back((skips.back() + 1) / 2);
  return skips;
}

Steps circulant_all_reduce(RankInLane at) {
  return in_order(reduce_scatter(at, 0), all_gather(at, 1));
}

Steps circulant_reduce_scatter(RankInLane at) { return reduce_scatter(at, 0); }

Steps circulant_all_gather(RankInLane at) { return in_order(copy_own(at), all_gather(at, 0)); }

}  // namespace rondo
