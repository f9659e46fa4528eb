// Recursive doubling. Each round doubles the ranks summed.
//
// all_reduce: partners swap their whole sums.
//
//   P = 6: 4 ranks take part in the exchange, the r = 2 others hand their vector to a neighbour
//
//   rank               0     1     2     3     4     5
//   fold               0 <-- 1     2 <-- 3                     2r ranks in pairs
//   exchange, round 0  0 <-------> 2           4 <-> 5         holds  0..3          4..5
//             round 1  0 <-------------------> 4               holds  0..5
//                                  2 <-------------> 5
//   unfold             0 --> 1     2 --> 3                     the result
//
// Both partners hold sums of neighbouring runs of ranks and put the lower run first. So every rank
// adds by the same tree over the ranks in their order, and ends with the same bits.
//
// Folded members have consecutive numbers among the 2^k members. Up to P = 3/2 2^k none of them is
// opposite to another. Then no chain of messages has a fold, all k rounds and an unfold, and
// hops are one fewer than rounds.
//
// Scans: each rank sends its sum to a rank above it.
//
//   rank         0      1      2      3
//   round 0        --->   --->   --->         to the next rank
//   holds        0      01     12     23
//   round 1        ---------->                to the next but one
//                         ---------->
//   holds        0      01     012    0123
//
// In an exclusive scan a rank holds the sum below it, and adds its own value only to what it sends.
//
// Cost               rounds             hops                               sent   reduced
//   all_reduce       2q-floor(log2(P))  q-floor(log2(P))+ceil(log2(2P/3))  q      q
//   scan             q                  floor(log2(P))                     q      q
//
// Cost               rounds   hops             sent   reduced
//   exclusive_scan   q        floor(log2(P))   q      max(0,q-3+max(2,ceil(log2(2P/3))))
#include "algorithms/builders.h"

namespace rondo {
namespace {

enum Phase : int { fold, exchange, unfold };

/// The ranks that take part in the exchange: the even ones of the first 2 `folded`, and all later.
struct Members {
  int count = 1;   ///< the largest power of two that is at most the number of ranks
  int folded = 0;  ///< r, how many ranks hand their vector to the rank before them

  explicit Members(int ranks) {
    const int q = log2_ceiling(ranks);
    count = 1 << q == ranks ? ranks : 1 << (q - 1);
    folded = ranks - count;
  }
  bool paired(int rank) const { return rank < 2 * folded; }
  int number(int rank) const { return paired(rank) ? rank / 2 : rank - folded; }
  int rank(int number) const { return number < folded ? 2 * number : number + folded; }
};

/// A rank outside of the exchange.
Steps lend(int rank) {
  co_yield send(rank - 1, input(0)).at(fold, 0);
  co_yield receive(rank - 1, output(0)).at(unfold, 0);
}

/// A member. The input is read until the first sum is in the output, and not again.
Steps take_part(int rank, Members members) {
  Chunk sum = input(0);
  if (members.paired(rank)) {
    co_yield receive_reduce(rank + 1, sum, output(0), Order::local_first).at(fold, 0);
    sum = output(0);
  }
  const int own = members.number(rank);
  for (int distance = 1, round = 0; distance < members.count; distance *= 2, ++round) {
    const int partner = members.rank(own ^ distance);
    const Order order = partner > rank ? Order::local_first : Order::received_first;
    co_yield send(partner, sum).at(exchange, round);
    co_yield receive_reduce(partner, sum, output(0), order).at(exchange, round);
    sum = output(0);
  }
  if (members.paired(rank)) co_yield send(rank + 1, sum).at(unfold, 0);
  if (sum != output(0)) co_yield copy(sum, output(0)).at(exchange, 0);
}

}  // namespace

Steps recursive_doubling_all_reduce(RankInLane at) {
  const Members members(at.ranks);
  const bool lends = members.paired(at.rank) && at.rank % 2 == 1;
  return lends ? lend(at.rank) : take_part(at.rank, members);
}

/// The sum of this rank and those below it, as far as they have come.
Steps recursive_doubling_scan(RankInLane at) {
  Chunk sum = input(0);
  for (int distance = 1, round = 0; distance < at.ranks; distance *= 2, ++round) {
    if (at.rank + distance < at.ranks) co_yield send(at.rank + distance, sum).at(0, round);
    if (at.rank < distance) continue;
    co_yield receive_reduce(at.rank - distance, sum, output(0)).at(0, round);
    sum = output(0);
  }
  if (sum != output(0)) co_yield copy(sum, output(0));
}

/// Calls may be in place, so the sum below stays in scratch until the input has been read.
Steps recursive_doubling_exclusive_scan(RankInLane at) {
  const Chunk below = scratch(0, 0);
  const Chunk own = scratch(1, 0);  // behind `below`, to be combined with it
  Chunk sum = input(0);
  if (at.rank > 0) co_yield copy(input(0), own);
  bool is_old = false;  // `below` has more than `sum`
  for (int distance = 1, round = 0; distance < at.ranks; distance *= 2, ++round) {
    const int above = at.rank + distance;
    if (above < at.ranks && is_old) {
      sum = scratch(2, 0);
      co_yield reduce(below, 2, sum).at(0, round);
      is_old = false;
    }
    if (above < at.ranks) co_yield send(above, sum).at(0, round);
    if (at.rank < distance) continue;
    const int from = at.rank - distance;
    co_yield (round == 0 ? receive(from, below) : receive_reduce(from, below, below)).at(0, round);
    is_old = true;
  }
  if (at.rank > 0) co_yield copy(below, output(0));
}

}  // namespace rondo
