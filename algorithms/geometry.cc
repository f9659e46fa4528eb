#include "algorithms/geometry.h"

#include <algorithm>

namespace rondo {
namespace {

int lowest_bit(int value) { return value & -value; }

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

TreeNode chain_node(int rank, int ranks, int root) {
  const int distance = wrap(rank - root, ranks);
  TreeNode node{.height = ranks - 1};
  if (distance > 0) node.parent = {wrap(rank - 1, ranks), distance - 1};
  if (distance + 1 < ranks) node.children = {{wrap(rank + 1, ranks), distance}};
  return node;
}

TreeNode binomial_node(int rank, int ranks, int root) {
  const int distance = wrap(rank - root, ranks);
  TreeNode node{.height = log2_ceiling(ranks)};
  for (int level = 0; level < node.height; ++level) {
    const int hop = 1 << (node.height - 1 - level);
    const int place = distance % (2 * hop);
    if (place == hop) node.parent = {wrap(rank - hop, ranks), level};
    if (place == 0 && distance + hop < ranks) {
      node.children.push_back({wrap(rank + hop, ranks), level});
    }
  }
  return node;
}

int binomial_subtree_size(int distance, int ranks) {
  return distance == 0 ? ranks : std::min(lowest_bit(distance), ranks - distance);
}

TreeNode double_tree_node(int rank, int ranks, int root, int tree) {
  const auto peer = [=](int role) {
    const int distance = tree == 0 ? role : second_tree_distance(role, ranks);
    return wrap(root + distance, ranks);
  };
  const int distance = wrap(rank - root, ranks);
  const int role = tree == 0 ? distance : second_tree_role(distance, ranks);
  const int depth = binary_depth(role, ranks);
  TreeNode node{.height = log2_ceiling(ranks)};
  if (role > 0) node.parent = {peer(binary_parent(role, ranks)), depth - 1};
  for (const int child : binary_children(role, ranks)) {
    node.children.push_back({peer(child), depth});
  }
  return node;
}

std::vector<int> circulant_skips(int ranks) {
  std::vector<int> skips{ranks};
  while (skips.back() > 1) skips.push_back((skips.back() + 1) / 2);
  return skips;
}

}  // namespace rondo
