// Binomial tree. Each round doubles the number of ranks that have the vector.
//
//   broadcast, P = 8, root 0    0 ---------------------- 4          round 0
//                               |-- 2                    |-- 6      round 1
//                               |   `-- 3                |   `-- 7  round 2
//                               `-- 1                    `-- 5      round 2
//   reduce                      the same edges upwards, the rounds backwards
//   all_reduce                  the reduction to rank 0, then the broadcast from it
//   scatter, gather             the blocks of all ranks below an edge travel over it as one message
//
// Cost           rounds   hops              sent                       reduced
//   all_reduce   2q       2floor(log2(P))   q                          q
//   broadcast    q        floor(log2(P))    q                          0
//   reduce       q        floor(log2(P))    1                          q
//   scatter      q        floor(log2(P))    (P-1)/P                    0
//   gather       q        floor(log2(P))    max(P-2^(q-1),2^(q-2))/P   0
#include "algorithms/binomial_tree.h"

#include <ranges>

#include "algorithms/tree.h"

namespace rondo {
namespace {

TreeNode place(int rank, int ranks, int root, int) { return binomial_node(rank, ranks, root); }

/// The blocks of the ranks from `rank` down, one run that wraps behind the last rank.
struct Subtree {
  int ranks = 1;
  int root = 0;
  int size(int rank) const { return binomial_subtree_size(wrap(rank - root, ranks), ranks); }
};

/// Inner nodes pass the blocks on through scratch; the others' land where they belong.
Steps scatter(TreeNode node, int rank, Subtree below) {
  const int size = below.size(rank);
  const bool leaf = !node.is_root() && size == 1;
  if (!node.is_root()) {
    co_yield receive(node.parent.peer, leaf ? output(rank) : scratch(0, rank, size))
        .at(0, node.parent.level);
  }
  for (const Edge& child : node.children) {
    const int blocks = below.size(child.peer);
    co_yield send(child.peer,
                  node.is_root() ? input(child.peer, blocks) : scratch(0, child.peer, blocks))
        .at(0, child.level);
  }
  if (!leaf) co_yield copy(node.is_root() ? input(rank) : scratch(0, rank), output(rank));
}

Steps gather(TreeNode node, int rank, Subtree below) {
  const int size = below.size(rank);
  const bool leaf = !node.is_root() && size == 1;
  if (!leaf) co_yield copy(input(rank), node.is_root() ? output(rank) : scratch(0, rank));
  for (const Edge& child : node.children | std::views::reverse) {
    const int blocks = below.size(child.peer);
    co_yield receive(child.peer,
                     node.is_root() ? output(child.peer, blocks) : scratch(0, child.peer, blocks))
        .at(0, node.reduce_round(child));
  }
  if (!node.is_root()) {
    co_yield send(node.parent.peer, leaf ? input(rank) : scratch(0, rank, size))
        .at(0, node.reduce_round(node.parent));
  }
}

}  // namespace

Schedule binomial_tree_all_reduce(int ranks, int root) {
  return tree_schedule(Collective::all_reduce, "binomial_tree", ranks, root, 1, place);
}
Schedule binomial_tree_broadcast(int ranks, int root) {
  return tree_schedule(Collective::broadcast, "binomial_tree", ranks, root, 1, place);
}
Schedule binomial_tree_reduce(int ranks, int root) {
  return tree_schedule(Collective::reduce, "binomial_tree", ranks, root, 1, place);
}

Schedule binomial_tree_scatter(int ranks, int root) {
  return {.collective = Collective::scatter,
          .algorithm = "binomial_tree",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::scatter, ranks, 1),
          .phases = {"scatter"},
          .steps = [ranks, root](int rank, int) {
            return scatter(binomial_node(rank, ranks, root), rank, {ranks, root});
          }};
}

Schedule binomial_tree_gather(int ranks, int root) {
  return {.collective = Collective::gather,
          .algorithm = "binomial_tree",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::gather, ranks, 1),
          .phases = {"gather"},
          .steps = [ranks, root](int rank, int) {
            return gather(binomial_node(rank, ranks, root), rank, {ranks, root});
          }};
}

}  // namespace rondo
