// What every tree does: sums go up, the result comes down. Shared by chain, binomial_tree and
// double_tree, which differ in the shape of the tree.
#pragma once

#include <string>

#include "algorithms/geometry.h"
#include "core/schedule/schedule.h"
#include "core/schedule/steps.h"

namespace rondo {

/// Each node adds its children's sums to its own value. It takes the children in the opposite order
/// of a broadcast. Sums are added up in `sum`; the root's holds the total at the end.
Steps reduce_up(TreeNode node, Chunk value, Chunk sum, int phase);

/// Brings the root's value, in `source`, to every rank's `destination`.
Steps broadcast_down(TreeNode node, Chunk source, Chunk destination, int phase);

/// A rank's place in the tree of a lane.
using PlaceInTree = TreeNode (*)(int rank, int ranks, int root, int lane);

/// A broadcast, a reduce, or an all_reduce (a reduce, then a broadcast, over trees with root 0).
/// Each lane carries its share of the vector through its own tree.
Schedule tree_schedule(Collective collective, std::string algorithm, int ranks, int root, int lanes,
                       PlaceInTree place);

}  // namespace rondo
