// Binomial tree: fewest rounds for messages too short to be sliced. See binomial_tree.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule binomial_tree_all_reduce(int ranks, int root);
Schedule binomial_tree_reduce_scatter(int ranks, int root);
Schedule binomial_tree_all_gather(int ranks, int root);
Schedule binomial_tree_broadcast(int ranks, int root);
Schedule binomial_tree_reduce(int ranks, int root);
Schedule binomial_tree_scatter(int ranks, int root);
Schedule binomial_tree_gather(int ranks, int root);

}  // namespace rondo
