// Where a rank stands among the others: rings, trees, circulant skips. No steps, no data.
#pragma once

#include <vector>

namespace rondo {

/// `value` wrapped into [0, modulus).
constexpr int wrap(int value, int modulus) {
  const int rest = value % modulus;
  return rest < 0 ? rest + modulus : rest;
}

/// ceil(log2 ranks): the q of the cost lines. 0 for one rank.
constexpr int log2_ceiling(int ranks) {
  int q = 0;
  while ((1LL << q) < ranks) ++q;
  return q;
}

/// The largest power of two that divides `value`, which is not 0.
constexpr int lowest_bit(int value) { return value & -value; }

/// One lane of one rank, on a ring of all ranks. Even lanes run towards higher ranks, odd ones the
/// other way:
///
///   lane 0:  0 -> 1 -> 2 -> 3 -> 0        lane 1:  0 <- 1 <- 2 <- 3 <- 0
struct RankInLane {
  int rank = 0;
  int ranks = 1;
  int root = 0;
  int lane = 0;
  int lanes = 1;

  /// The rank `hops` further along the lane's direction.
  int ahead(int hops) const { return wrap(lane % 2 == 0 ? rank + hops : rank - hops, ranks); }
  int behind(int hops) const { return ahead(-hops); }
  /// The lane's part of the block that the rank `hops` further along owns.
  int chunk(int hops) const { return ahead(hops) * lanes + lane; }
};

/// An edge of a tree. `level` is the broadcast round in which it is used, 0 next to the root; a
/// reduction uses it in round height - 1 - level.
struct Edge {
  int peer = -1;
  int level = 0;
};

/// One rank's place in a tree.
struct TreeNode {
  Edge parent{};                 ///< parent.peer < 0 at the root
  std::vector<Edge> children{};  ///< in the order in which a broadcast serves them
  int height = 0;                ///< rounds of a broadcast over the whole tree

  bool is_root() const { return parent.peer < 0; }
  int reduce_round(const Edge& edge) const { return height - 1 - edge.level; }
};

/// The place in a line of ranks that begins at the root, drawn in chain.cc.
TreeNode chain_node(RankInLane at);

/// The place in the binomial tree that is drawn in binomial_tree.cc. Other roots shift the ranks.
TreeNode binomial_node(RankInLane at);

/// The number of ranks in the subtree of the rank that is `distance` after the root. They are
/// consecutive, from that rank on.
int binomial_subtree_size(int distance, int ranks);

/// The place in the lane's tree of the two that are drawn in double_tree.cc. A rank other than the
/// root has at most two children, all in one tree. The root has one child in each tree.
TreeNode double_tree_node(RankInLane at);

/// Traeff's skips: P, ceil(P/2), ceil(P/4), ..., 1. One more than there are rounds, q.
std::vector<int> circulant_skips(int ranks);

}  // namespace rondo
