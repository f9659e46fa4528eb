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

/// How many blocks travel over the edge above `top`: one for every rank below.
int blocks_under(int top, int ranks, int root) {
  return binomial_subtree_size(wrap(top - root, ranks), ranks);
}

/// Leaves receive straight into place; inner nodes keep what they pass on in scratch.
Steps scatter(TreeNode node, int rank, int ranks, int root) {
  const auto blocks = [=](int top) {
    const int count = blocks_under(top, ranks, root);
    return rank == root ? input(top, count) : scratch(0, top, count);
  };
  const bool leaf = rank != root && node.children.empty();
  if (rank != root) {
    const Chunk into = leaf ? output(rank) : blocks(rank);
    co_yield receive(node.parent.peer, into).at(0, node.parent.level);
  }
  for (const Edge& child : node.children) {
    co_yield send(child.peer, blocks(child.peer)).at(0, child.level);
  }
  if (!leaf) co_yield copy(rank == root ? input(rank) : scratch(0, rank), output(rank));
}

/// The same backwards.
Steps gather(TreeNode node, int rank, int ranks, int root) {
  const auto blocks = [=](int top) {
    const int count = blocks_under(top, ranks, root);
    return rank == root ? output(top, count) : scratch(0, top, count);
  };
  const bool leaf = rank != root && node.children.empty();
  if (!leaf) co_yield copy(input(rank), rank == root ? output(rank) : scratch(0, rank));
  for (const Edge& child : node.children | std::views::reverse) {
    co_yield receive(child.peer, blocks(child.peer)).at(0, node.reduce_round(child));
  }
  if (rank != root) {
    const Chunk from = leaf ? input(rank) : blocks(rank);
    co_yield send(node.parent.peer, from).at(0, node.reduce_round(node.parent));
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
            return scatter(binomial_node(rank, ranks, root), rank, ranks, root);
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
            return gather(binomial_node(rank, ranks, root), rank, ranks, root);
          }};
}

}  // namespace rondo
