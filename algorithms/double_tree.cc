// Double binary tree. Each half of the vector has its own tree. An inner rank of one tree is a leaf
// of the other, so all links carry the same load, and q levels suffice.
//
//   P = 8, root 0     lane 0:  0                      lane 1:  0
//                              `-- 4                           `-- 5
//                                  |-- 2                           |-- 3
//                                  |   |-- 1                       |   |-- 2
//                                  |   `-- 3                       |   `-- 4
//                                  `-- 6                           `-- 7
//                                      |-- 5                           |-- 6
//                                      `-- 7                           `-- 1
//
//   broadcast    down
//   reduce       up
//   all_reduce   up to rank 0, then down
//
// Cost           rounds                  hops   sent         reduced
//   all_reduce   2(q+floor(log2(P))-1)   2q     min(2,P/2)   1
//   broadcast    q+floor(log2(P))-1      q      1            0
//   reduce       q+floor(log2(P))-1      q      1            1
//
// Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan,
// 2009.
#include "algorithms/double_tree.h"

#include "algorithms/tree.h"

namespace rondo {

Schedule double_tree_all_reduce(int ranks, int root) {
  return tree_schedule(Collective::all_reduce, "double_tree", ranks, root, 2, double_tree_node);
}
Schedule double_tree_broadcast(int ranks, int root) {
  return tree_schedule(Collective::broadcast, "double_tree", ranks, root, 2, double_tree_node);
}
Schedule double_tree_reduce(int ranks, int root) {
  return tree_schedule(Collective::reduce, "double_tree", ranks, root, 2, double_tree_node);
}

}  // namespace rondo
