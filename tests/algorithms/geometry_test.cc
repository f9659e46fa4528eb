// Rings, trees and skips by themselves: which ranks are neighbours.
#include "algorithms/geometry.h"

#include <algorithm>
#include <set>
#include <string>

#include "tests/catch.h"

using namespace rondo;

namespace {

constexpr int most_ranks = 130;

struct Shape {
  const char* name;
  TreeNode (*node)(RankInLane at);
  int lane;
  bool logarithmic;

  TreeNode place(int rank, int ranks, int root) const { return node({rank, ranks, root, lane}); }
};

constexpr Shape shapes[] = {
    {"chain", chain_node, 0, false},
    {"binomial", binomial_node, 0, true},
    {"double, tree 0", double_tree_node, 0, true},
    {"double, tree 1", double_tree_node, 1, true},
};

std::vector<int> roots(int ranks) {
  std::vector<int> some{0, ranks / 3, ranks / 2, ranks - 1};
  if (ranks <= 17)
    for (int root = 0; root < ranks; ++root) some.push_back(root);
  return some;
}

bool has_edge(const TreeNode& parent, int child, int level) {
  return std::any_of(parent.children.begin(), parent.children.end(),
                     [=](const Edge& edge) { return edge.peer == child && edge.level == level; });
}

/// Whether every rank's edges agree with its neighbours', and lead up to the one root.
bool is_tree(const Shape& shape, int ranks, int root) {
  int edges = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const TreeNode node = shape.place(rank, ranks, root);
    edges += static_cast<int>(node.children.size());
    if (node.is_root() != (rank == root)) return false;
    if (node.height != shape.place(root, ranks, root).height) return false;
    int level = node.parent.level;
    for (const Edge& child : node.children) {
      if (child.level < level || child.level >= node.height) return false;
      if (shape.place(child.peer, ranks, root).parent.peer != rank) return false;
      level = child.level;
    }
    if (node.is_root()) continue;
    const TreeNode parent = shape.place(node.parent.peer, ranks, root);
    if (!has_edge(parent, rank, node.parent.level)) return false;
    if (!parent.is_root() && parent.parent.level >= node.parent.level) return false;
  }
  return edges == ranks - 1;
}

/// "0(4(2(1 3) 6(5 7)))": a node and, in brackets, its children.
std::string drawn(const Shape& shape, int rank, int ranks, int root) {
  std::string text = std::to_string(rank);
  const TreeNode node = shape.place(rank, ranks, root);
  for (const Edge& child : node.children) {
    text += &child == &node.children.front() ? "(" : " ";
    text += drawn(shape, child.peer, ranks, root);
  }
  return node.children.empty() ? text : text + ")";
}

}  // namespace

TEST_CASE("wrap and log2_ceiling") {
  CHECK(wrap(-1, 5) == 4);
  CHECK(wrap(-10, 5) == 0);
  CHECK(wrap(12, 5) == 2);
  CHECK(log2_ceiling(1) == 0);
  CHECK(log2_ceiling(2) == 1);
  CHECK(log2_ceiling(5) == 3);
  CHECK(log2_ceiling(8) == 3);
  CHECK(log2_ceiling(1 << 30) == 30);
}

TEST_CASE("a ring visits every rank once, in opposite directions in even and odd lanes") {
  for (int ranks = 1; ranks <= most_ranks; ++ranks) {
    for (const int lane : {0, 1}) {
      std::set<int> visited;
      std::set<int> chunks;
      int rank = 0;
      for (int hop = 0; hop < ranks; ++hop) {
        const RankInLane at{rank, ranks, 0, lane, 2};
        REQUIRE(RankInLane{at.ahead(1), ranks, 0, lane, 2}.behind(1) == rank);
        REQUIRE(at.ahead(1) == RankInLane{rank, ranks, 0, 1 - lane, 2}.behind(1));
        REQUIRE(RankInLane{0, ranks, 0, lane, 2}.chunk(hop) == at.chunk(0));
        visited.insert(rank);
        chunks.insert(at.chunk(0));
        rank = at.ahead(1);
      }
      REQUIRE(rank == 0);
      REQUIRE(static_cast<int>(visited.size()) == ranks);
      REQUIRE(static_cast<int>(chunks.size()) == ranks);
    }
  }
}

TEST_CASE("every tree is a tree over all ranks, for any number of ranks and any root") {
  for (const Shape& shape : shapes) {
    for (int ranks = 1; ranks <= most_ranks; ++ranks) {
      for (const int root : roots(ranks)) {
        CAPTURE(shape.name, ranks, root);
        REQUIRE(is_tree(shape, ranks, root));
        REQUIRE(shape.place(root, ranks, root).height ==
                (shape.logarithmic ? log2_ceiling(ranks) : ranks - 1));
      }
    }
  }
}

TEST_CASE("the trees of eight ranks are as drawn") {
  CHECK(drawn(shapes[0], 0, 8, 0) == "0(1(2(3(4(5(6(7)))))))");
  CHECK(drawn(shapes[1], 0, 8, 0) == "0(4(6(7) 5) 2(3) 1)");
  CHECK(drawn(shapes[2], 0, 8, 0) == "0(4(2(1 3) 6(5 7)))");
  CHECK(drawn(shapes[3], 0, 8, 0) == "0(5(3(2 4) 7(6 1)))");
  CHECK(drawn(shapes[1], 6, 8, 6) == "6(2(4(5) 3) 0(1) 7)");
}

TEST_CASE("double tree: inner in one tree at most, two children at most, one under each root") {
  for (int ranks = 2; ranks <= most_ranks; ++ranks) {
    for (const int root : roots(ranks)) {
      for (int rank = 0; rank < ranks; ++rank) {
        const auto first = double_tree_node({rank, ranks, root, 0}).children.size();
        const auto second = double_tree_node({rank, ranks, root, 1}).children.size();
        CAPTURE(ranks, root, rank);
        if (rank == root) {
          REQUIRE(first == 1);
          REQUIRE(second == 1);
        } else {
          REQUIRE(std::min(first, second) == 0);
          REQUIRE(std::max(first, second) <= 2);
        }
      }
    }
  }
}

TEST_CASE("a binomial subtree is a run of ranks") {
  for (int ranks = 1; ranks <= most_ranks; ++ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      int end = rank + 1;
      const TreeNode node = binomial_node({rank, ranks, 0});
      for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
        REQUIRE(child->peer == end);
        end += binomial_subtree_size(child->peer, ranks);
      }
      REQUIRE(end == rank + binomial_subtree_size(rank, ranks));
    }
  }
}

TEST_CASE("circulant skips halve, rounding up, in q rounds") {
  CHECK(circulant_skips(6) == std::vector{6, 3, 2, 1});
  CHECK(circulant_skips(1) == std::vector{1});
  for (int ranks = 1; ranks <= 3000; ++ranks) {
    const std::vector<int> skips = circulant_skips(ranks);
    REQUIRE(static_cast<int>(skips.size()) == log2_ceiling(ranks) + 1);
    REQUIRE(skips.front() == ranks);
    REQUIRE(skips.back() == 1);
    for (std::size_t i = 1; i < skips.size(); ++i) REQUIRE(skips[i] == (skips[i - 1] + 1) / 2);
  }
}
