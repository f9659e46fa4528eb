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
#include "algorithms/circulant.h"

#include "algorithms/compose.h"
#include "algorithms/geometry.h"

namespace rondo {
namespace {

/// Ends with the sum of block `rank` in output[rank].
Steps reduce_scatter(int rank, int ranks, int phase) {
  const std::vector<int> skips = circulant_skips(ranks);
  const int rounds = static_cast<int>(skips.size()) - 1;
  for (int round = 0; round < rounds; ++round) {
    const int skip = skips[round + 1];
    const int count = skips[round] - skip;
    const int ahead = wrap(rank + skip, ranks);
    const int behind = wrap(rank - skip, ranks);
    const auto sums = [&](int block, int blocks) {
      return round == 0 ? input(block, blocks) : scratch(0, block, blocks);
    };
    co_yield send(ahead, sums(ahead, count)).at(phase, round);
    const Chunk into = round == rounds - 1 ? output(rank) : scratch(0, rank, count);
    co_yield receive_reduce(behind, sums(rank, count), into).at(phase, round);
    // An odd number of blocks: the middle one got nothing and joins the others' buffer.
    const int middle = wrap(rank + count, ranks);
    if (round == 0 && count < skip) {
      co_yield copy(input(middle), scratch(0, middle)).at(phase, round);
    }
  }
  if (ranks == 1) co_yield copy(input(rank), output(rank)).at(phase, 0);
}

/// Begins with output[rank] of every rank.
Steps all_gather(int rank, int ranks, int phase) {
  const std::vector<int> skips = circulant_skips(ranks);
  const int rounds = static_cast<int>(skips.size()) - 1;
  for (int round = 0; round < rounds; ++round) {
    const int skip = skips[rounds - round];
    const int count = skips[rounds - round - 1] - skip;
    const int ahead = wrap(rank + skip, ranks);
    const int behind = wrap(rank - skip, ranks);
    co_yield send(behind, output(rank, count)).at(phase, round);
    co_yield receive(ahead, output(ahead, count)).at(phase, round);
  }
}

}  // namespace

Schedule circulant_all_reduce(int ranks, int root) {
  return {.collective = Collective::all_reduce,
          .algorithm = "circulant",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::all_reduce, ranks, ranks),
          .phases = {"reduce-scatter", "all-gather"},
          .steps = [ranks](int rank, int) {
            return in_order(reduce_scatter(rank, ranks, 0), all_gather(rank, ranks, 1));
          }};
}

Schedule circulant_reduce_scatter(int ranks, int root) {
  return {.collective = Collective::reduce_scatter,
          .algorithm = "circulant",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::reduce_scatter, ranks, 1),
          .phases = {"reduce-scatter"},
          .steps = [ranks](int rank, int) { return reduce_scatter(rank, ranks, 0); }};
}

Schedule circulant_all_gather(int ranks, int root) {
  return {.collective = Collective::all_gather,
          .algorithm = "circulant",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::all_gather, ranks, 1),
          .phases = {"all-gather"},
          .steps = [ranks](int rank, int) {
            return in_order(just(copy(input(rank), output(rank))), all_gather(rank, ranks, 0));
          }};
}

}  // namespace rondo
