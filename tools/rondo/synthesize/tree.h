// Trees over all ranks.
#pragma once

#include <vector>

#include "tools/rondo/synthesize/network.h"

namespace rondo::tool {

struct Tree {
  int root = 0;
  std::vector<int> parent{};  ///< by rank; -1: the root

  friend bool operator==(const Tree&, const Tree&) = default;
};

/// By rank: how many edges lie between it and the root. -1 everywhere if there is a cycle.
std::vector<int> depths_of(const Tree& tree);

/// The tree from the root whose edges, parent to child, have the least price in all. Edmonds'
/// algorithm; O(ranks^3) at worst.
Tree cheapest_tree(const PairTable& price, int root);

/// The tree that grows by the edge with the least price plus time of arrival, where a rank sends to one
/// child after the other. `hop`: seconds on the way; `busy`: until the sender can go on.
Tree early_tree(const PairTable& price, const PairTable& hop, const PairTable& busy, int root);

/// The same edges, from the rank that makes the deepest path shortest.
Tree from_centre(const Tree& tree);

}  // namespace rondo::tool
