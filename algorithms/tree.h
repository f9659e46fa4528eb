// What every tree does: sums go up, the result comes down. Shared by chain, binomial_tree and
// double_tree, which differ in who hangs below whom.
#pragma once

#include <string>

#include "algorithms/geometry.h"
#include "core/schedule/schedule.h"
#include "core/schedule/steps.h"

namespace rondo {

/// Each node adds its children's sums to its own value, the last one served by a broadcast first.
/// `sum` is where they are added up; the total ends in the root's.
Steps reduce_up(TreeNode node, Chunk value, Chunk sum, int phase);

/// The root's value, in `source`, ends in every rank's `destination`.
Steps broadcast_down(TreeNode node, Chunk source, Chunk destination, int phase);

/// A rank's place in the tree of a lane.
using PlaceInTree = TreeNode (*)(int rank, int ranks, int root, int lane);

/// broadcast, reduce, or all_reduce as the one after the other (over the trees with root 0). Each
/// lane carries its share of the vector through its own tree.
Schedule tree_schedule(Collective collective, std::string algorithm, int ranks, int root, int lanes,
                       PlaceInTree place);

}  // namespace rondo
