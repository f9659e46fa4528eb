// Chain. The vector runs along a line of ranks, cut into slices so that every link works at once.
//
//   broadcast   root -> root+1 -> ... -> root-1
//   reduce      root <- root+1 <- ... <- root-1
//   all_reduce  the reduction to rank 0, then the broadcast from it
//   scan        0 -> 1 -> ... -> P-1: each rank puts its own value behind what it gets, and sends the
//               sum on. In an exclusive scan it keeps what it got.
//
// Cost               rounds   hops     sent         reduced
//   all_reduce       2(P-1)   2(P-1)   min(2,P-1)   1
//   broadcast        P-1      P-1      1            0
//   reduce           P-1      P-1      1            1
//   scan             P-1      P-1      1            1
//   exclusive_scan   P-1      P-1      1            min(1,max(0,P-2))
//
// In s slices a broadcast takes P-2+s rounds of N/s each.
#include "algorithms/builders.h"

namespace rondo {

TreeNode chain_node(RankInLane at) {
  const int distance = wrap(at.rank - at.root, at.ranks);
  TreeNode node{.height = at.ranks - 1};
  if (distance > 0) node.parent = {at.behind(1), distance - 1};
  if (distance + 1 < at.ranks) node.children = {{at.ahead(1), distance}};
  return node;
}

Steps chain_scan(RankInLane at) {
  const int next = at.rank + 1;
  const Chunk sum = at.rank == 0 ? input(0) : output(0);
  if (at.rank > 0) co_yield receive_reduce(at.rank - 1, input(0), sum).at(0, at.rank - 1);
  if (next < at.ranks) co_yield send(next, sum).at(0, at.rank);
  if (at.rank == 0) co_yield copy(sum, output(0));
}

/// Calls may be in place, so the sum below stays in scratch until the input has been read.
Steps chain_exclusive_scan(RankInLane at) {
  const int next = at.rank + 1;
  const Chunk below = scratch(0, 0);
  const Chunk own = scratch(1, 0);  // behind `below`, to be combined with it
  const Chunk sum = at.rank == 0 ? input(0) : scratch(2, 0);
  if (at.rank > 0) co_yield receive(at.rank - 1, below).at(0, at.rank - 1);
  if (at.rank > 0 && next < at.ranks) {
    co_yield copy(input(0), own).at(0, at.rank);
    co_yield reduce(below, 2, sum).at(0, at.rank);
  }
  if (next < at.ranks) co_yield send(next, sum).at(0, at.rank);
  if (at.rank > 0) co_yield copy(below, output(0)).at(0, at.rank);
}

}  // namespace rondo
