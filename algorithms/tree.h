// What every tree does: sums go up, the result comes down. Shared by chain, binomial_tree and
// double_tree, which differ in the shape of the tree. Each lane carries its share of the vector
// through its own tree.
#pragma once

#include "algorithms/compose.h"
#include "algorithms/geometry.h"

namespace rondo {

/// Each node adds its children's sums to its own value. It takes the children in the opposite order
/// of a broadcast. Sums are added up in `sum`; the root's holds the total at the end.
Steps reduce_up(TreeNode node, Chunk value, Chunk sum, int phase);

/// Brings the root's value, in `source`, to every rank's `destination`.
Steps broadcast_down(TreeNode node, Chunk source, Chunk destination, int phase);

/// A rank's place in the tree of its lane.
using PlaceInTree = TreeNode (*)(RankInLane at);

template <PlaceInTree place>
Steps tree_broadcast(RankInLane at) {
  return broadcast_down(place(at), input(at.lane), output(at.lane), 0);
}

template <PlaceInTree place>
Steps tree_reduce(RankInLane at) {
  const Chunk sum = at.rank == at.root ? output(at.lane) : scratch(0, at.lane);
  return reduce_up(place(at), input(at.lane), sum, 0);
}

/// The reduction to rank 0, then the broadcast from it.
template <PlaceInTree place>
Steps tree_all_reduce(RankInLane at) {
  at.root = 0;
  const Chunk result = output(at.lane);
  return in_order(tree_reduce<place>(at), broadcast_down(place(at), result, result, 1));
}

}  // namespace rondo
