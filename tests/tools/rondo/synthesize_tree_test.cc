// The trees of rondo synthesize, against all trees that there are.
#include <algorithm>
#include <functional>
#include <random>

#include "tests/catch.h"
#include "tools/rondo/synthesize/loads.h"
#include "tools/rondo/synthesize/tree.h"

using namespace rondo::tool;

namespace {

/// Calls `use` with every tree from the root.
void for_each_tree(int ranks, int root, const std::function<void(const Tree&)>& use) {
  Tree tree{root, std::vector<int>(at(ranks), 0)};
  tree.parent[at(root)] = -1;
  for (;;) {
    if (std::ranges::count(depths_of(tree), -1) == 0) use(tree);
    int rank = 0;
    while (rank < ranks && (rank == root || ++tree.parent[at(rank)] == ranks)) {
      if (rank != root) tree.parent[at(rank)] = 0;
      ++rank;
    }
    if (rank == ranks) return;
  }
}

PairTable random_prices(int ranks, std::mt19937& chance) {
  PairTable prices(ranks);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) prices.at(from, to) = static_cast<double>(1 + chance() % 20);
  return prices;
}

}  // namespace

TEST_CASE("the cheapest tree is the cheapest of all") {
  std::mt19937 chance;  // NOLINT: the same every time
  for (int trial = 0; trial < 200; ++trial) {
    const int ranks = 2 + trial % 4;
    const PairTable prices = random_prices(ranks, chance);
    const int root = trial % ranks;
    double least = 1e30;
    for_each_tree(ranks, root,
                  [&](const Tree& tree) { least = std::min(least, price_of(prices, tree)); });
    const Tree found = cheapest_tree(prices, root);
    CAPTURE(trial, ranks, root);
    REQUIRE(found.parent[at(root)] == -1);
    REQUIRE(std::ranges::count(depths_of(found), -1) == 0);
    CHECK(price_of(prices, found) == least);
  }
}

TEST_CASE("larger trees: cycles within cycles are taken apart") {
  std::mt19937 chance;  // NOLINT
  for (int trial = 0; trial < 100; ++trial) {
    const int ranks = 40;
    const PairTable prices = random_prices(ranks, chance);
    const Tree found = cheapest_tree(prices, trial % ranks);
    REQUIRE(std::ranges::count(depths_of(found), -1) == 0);
    // No other parent of a single rank makes it cheaper.
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == found.root) continue;
      for (int parent = 0; parent < ranks; ++parent) {
        Tree changed = found;
        changed.parent[at(rank)] = parent;
        if (parent == rank || depths_of(changed)[at(rank)] < 0) continue;
        CHECK(price_of(prices, changed) >= price_of(prices, found));
      }
    }
  }
}

TEST_CASE("a tree from its centre has the same edges and half the depth") {
  Tree line{0, {-1, 0, 1, 2, 3, 4}};
  const Tree centred = from_centre(line);
  CHECK(std::ranges::max(depths_of(centred)) == 3);
  const auto joined = [](const Tree& tree, int one, int other) {
    return tree.parent[at(one)] == other || tree.parent[at(other)] == one;
  };
  for (int rank = 0; rank < 5; ++rank) CHECK(joined(centred, rank, rank + 1));
  CHECK(depths_of({0, {-1, 2, 1}}) == std::vector{-1, -1, -1});  // a cycle
}

TEST_CASE("in haste, a rank sends to the farther ones first where that ends earlier") {
  PairTable prices(4);
  PairTable hop(4);
  PairTable busy(4);
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      hop.at(from, to) = 10;
      busy.at(from, to) = 1;
    }
  }
  CHECK(early_tree(prices, hop, busy, 2).parent == std::vector{2, 2, -1, 2});  // 10, 11, 12
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to) busy.at(from, to) = 10;
  const Tree doubling = early_tree(prices, hop, busy, 0);  // 10, 20, 20
  CHECK(std::ranges::max(depths_of(doubling)) == 2);
}
