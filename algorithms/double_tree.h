// Double binary tree: few rounds and full bandwidth. See double_tree.cc.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

Schedule double_tree_all_reduce(int ranks, int root);
Schedule double_tree_broadcast(int ranks, int root);
Schedule double_tree_reduce(int ranks, int root);

}  // namespace rondo
