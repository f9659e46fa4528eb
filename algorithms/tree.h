// What every tree does: sums go up, the result comes down. Shared by chain, binomial_tree and
// double_tree, which differ in who hangs below whom.
#pragma once

#include <string>

#include "algorithms/geometry.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// A rank's place in the tree of a lane.
using PlaceInTree = TreeNode (*)(int rank, int ranks, int root, int lane);

/// broadcast, reduce, or all_reduce as the one after the other (over the trees with root 0). Each
/// lane carries its share of the vector through its own tree.
Schedule tree_schedule(Collective collective, std::string algorithm, int ranks, int root, int lanes,
                       PlaceInTree place);

}  // namespace rondo
