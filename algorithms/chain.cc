// Chain. The vector runs along a line of ranks, cut into slices so that every link works at once.
//
//   broadcast   root -> root+1 -> ... -> root-1
//   reduce      root <- root+1 <- ... <- root-1
//   all_reduce  the reduction to rank 0, then the broadcast from it
//
// Cost           rounds   hops     sent         reduced
//   all_reduce   2(P-1)   2(P-1)   min(2,P-1)   1
//   broadcast    P-1      P-1      1            0
//   reduce       P-1      P-1      1            1
//
// In s slices a broadcast takes P-2+s rounds of N/s each.
#include "algorithms/geometry.h"

namespace rondo {

TreeNode chain_node(RankInLane at) {
  const int distance = wrap(at.rank - at.root, at.ranks);
  TreeNode node{.height = at.ranks - 1};
  if (distance > 0) node.parent = {at.behind(1), distance - 1};
  if (distance + 1 < at.ranks) node.children = {{at.ahead(1), distance}};
  return node;
}

}  // namespace rondo
