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
#include "algorithms/geometry.h"

namespace rondo {
namespace {

/// Parent of node v > 0 of the binary tree whose leaves are the odd numbers: 0 -- 2^(q-1) on top.
int binary_parent(int node, int ranks) {
  const int bit = lowest_bit(node);
  const int above = (node ^ bit) | (2 * bit);
  return above < ranks ? above : node ^ bit;
}

/// Its children. The right one lies half as far away until it exists.
std::vector<int> binary_children(int node, int ranks) {
  if (node == 0)
    return ranks == 1 ? std::vector<int>{} : std::vector{1 << (log2_ceiling(ranks) - 1)};
  std::vector<int> children;
  int distance = lowest_bit(node) / 2;
  if (distance > 0) children.push_back(node - distance);
  while (distance > 0 && node + distance >= ranks) distance /= 2;
  if (distance > 0) children.push_back(node + distance);
  return children;
}

int binary_depth(int node, int ranks) {
  int depth = 0;
  for (; node != 0; node = binary_parent(node, ranks)) ++depth;
  return depth;
}

/// The node of tree 1 that the rank `distance` after the root is. The root stays the root. The
/// other ranks mirror tree 0 or shift by one, whichever turns odd numbers (leaves) into even ones.
int second_tree_role(int distance, int ranks) {
  if (distance == 0) return 0;
  if (ranks % 2 == 1) return ranks - distance;
  return distance == 1 ? ranks - 1 : distance - 1;
}

int second_tree_distance(int role, int ranks) {
  if (role == 0) return 0;
  if (ranks % 2 == 1) return ranks - role;
  return role == ranks - 1 ? 1 : role + 1;
}

}  // namespace

TreeNode double_tree_node(RankInLane at) {
  const auto peer = [=](int role) {
    const int distance = at.lane == 0 ? role : second_tree_distance(role, at.ranks);
    return wrap(at.root + distance, at.ranks);
  };
  const int distance = wrap(at.rank - at.root, at.ranks);
  const int role = at.lane == 0 ? distance : second_tree_role(distance, at.ranks);
  const int depth = binary_depth(role, at.ranks);
  TreeNode node{.height = log2_ceiling(at.ranks)};
  if (role > 0) node.parent = {peer(binary_parent(role, at.ranks)), depth - 1};
  for (const int child : binary_children(role, at.ranks)) {
    node.children.push_back({peer(child), depth});
  }
  return node;
}

}  // namespace rondo
