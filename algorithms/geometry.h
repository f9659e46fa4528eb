// Which ranks are neighbours: rings, chains, trees, circulant skips. No steps, no data.
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

/// One lane's ring as `rank` sees it. Even lanes run towards higher ranks, odd ones the other way:
///
///   lane 0:  0 -> 1 -> 2 -> 3 -> 0        lane 1:  0 <- 1 <- 2 <- 3 <- 0
struct Ring {
  int rank = 0;
  int ranks = 1;
  int lane = 0;
  int lanes = 1;
  int parts = 1;  ///< pieces of a lane's part of a block, which travel one after another

  /// The rank `hops` further along the lane's direction; negative hops go back.
  int at(int hops) const { return wrap(lane % 2 == 0 ? rank + hops : rank - hops, ranks); }
  int next() const { return at(1); }
  int previous() const { return at(-1); }
  /// The lane's part of the block that the rank `hops` further along owns, or a part of that.
  int chunk(int hops, int part = 0) const { return (at(hops) * lanes + lane) * parts + part; }
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

/// A line of ranks that begins at `root` and wraps after the last rank:
///
///   root -- root+1 -- ... -- P-1 -- 0 -- ... -- root-1
TreeNode chain_node(int rank, int ranks, int root);

/// The binomial tree, here for P = 8 and root 0; other roots shift the rank numbers and wrap.
/// Level l has the edges over a distance of 2^(q-1-l).
///
///   0 ---------------------- 4          level 0
///   |-- 2                    |-- 6      level 1
///   |   `-- 3                |   `-- 7  level 2
///   `-- 1                    `-- 5      level 2
TreeNode binomial_node(int rank, int ranks, int root);

/// The number of ranks in the subtree of the rank that is `distance` after the root. They are
/// consecutive, from that rank on.
int binomial_subtree_size(int distance, int ranks);

/// Two binary trees over the same ranks and root, for any number of ranks; here P = 8, root 0.
///
///   tree 0:  0                      tree 1:  0
///            `-- 4                           `-- 5
///                |-- 2                           |-- 3
///                |   |-- 1                       |   |-- 2
///                |   `-- 3                       |   `-- 4
///                `-- 6                           `-- 7
///                    |-- 5                           |-- 6
///                    `-- 7                           `-- 1
///
/// A rank other than the root has at most two children, all in one tree. The root has one child in
/// each tree. With half of a vector in each tree every rank's link has the same load. Height is q.
/// (Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, 2009.)
TreeNode double_tree_node(int rank, int ranks, int root, int tree);

/// Traeff's skips: P, ceil(P/2), ceil(P/4), ..., 1. One more than there are rounds, q.
std::vector<int> circulant_skips(int ranks);

}  // namespace rondo
