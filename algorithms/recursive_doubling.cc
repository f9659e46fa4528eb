// Recursive doubling. Partners swap their whole sums; each round doubles the ranks summed.
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
// Cost           rounds             hops                               sent   reduced
//   all_reduce   2q-floor(log2(P))  q-floor(log2(P))+ceil(log2(2P/3))  q      q
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

}  // namespace rondo
