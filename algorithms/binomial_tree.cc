// Binomial tree. Each round doubles the number of ranks that have the vector.
//
//   broadcast, P = 8, root 0    0 ---------------------- 4          round 0
//                               |-- 2                    |-- 6      round 1
//                               |   `-- 3                |   `-- 7  round 2
//                               `-- 1                    `-- 5      round 2
//   reduce                      the same edges upwards, the rounds backwards
//   all_reduce                  the reduction to rank 0, then the broadcast from it
//   scatter, gather             the blocks of all ranks below an edge travel over it as one message
//   all_gather                  the gather at rank 0, then the broadcast from it
//   reduce_scatter              the reduction to rank 0, then the scatter from it
//
// Where all ranks share one machine, the processors decide and not the wires. An all-reduce takes
// 2(P-1) messages in all, the fewest by which every rank can learn from every other.
//
// Cost               rounds   hops              sent                                reduced
//   all_reduce       2q       2floor(log2(P))   q                                   q
//   reduce_scatter   2q       2floor(log2(P))   1+(max(P-2^(q-1),2^(q-2))-1)/P      q
//   all_gather       2q       2floor(log2(P))   q                                   0
//   broadcast        q        floor(log2(P))    q                                   0
//   reduce           q        floor(log2(P))    1                                   q
//   scatter          q        floor(log2(P))    (P-1)/P                             0
//   gather           q        floor(log2(P))    max(P-2^(q-1),2^(q-2))/P            0
#include "algorithms/binomial_tree.h"

#include <ranges>

#include "algorithms/compose.h"
#include "algorithms/tree.h"

namespace rondo {
namespace {

TreeNode place(int rank, int ranks, int root, int) { return binomial_node(rank, ranks, root); }

/// The place of `count` blocks, beginning with block `first`.
using ChunkOf = Chunk (*)(int first, int count);
Chunk kept(int first, int count) { return scratch(0, first, count); }

/// How many blocks travel over the edge above `top`: one for every rank below that edge.
int blocks_under(int top, int ranks, int root) {
  return binomial_subtree_size(wrap(top - root, ranks), ranks);
}

/// Hands out the blocks of the root's `source`. Leaves receive straight into place. Inner nodes
/// keep what they pass on in scratch.
Steps scatter(TreeNode node, int rank, int ranks, int root, ChunkOf source, int phase) {
  const ChunkOf blocks = rank == root ? source : kept;
  const bool leaf = rank != root && node.children.empty();
  if (rank != root) {
    const Chunk into = leaf ? output(rank) : blocks(rank, blocks_under(rank, ranks, root));
    co_yield receive(node.parent.peer, into).at(phase, node.parent.level);
  }
  for (const Edge& child : node.children) {
    const Chunk part = blocks(child.peer, blocks_under(child.peer, ranks, root));
    co_yield send(child.peer, part).at(phase, child.level);
  }
  if (!leaf) co_yield copy(blocks(rank, 1), output(rank)).at(phase, 0);
}

/// Does the same backwards, into the root's output. Inner nodes keep what they pass on in `place`.
Steps gather(TreeNode node, int rank, int ranks, int root, ChunkOf place) {
  const ChunkOf blocks = rank == root ? ChunkOf(output) : place;
  const bool leaf = rank != root && node.children.empty();
  if (!leaf) co_yield copy(input(rank), blocks(rank, 1));
  for (const Edge& child : node.children | std::views::reverse) {
    const Chunk part = blocks(child.peer, blocks_under(child.peer, ranks, root));
    co_yield receive(child.peer, part).at(0, node.reduce_round(child));
  }
  if (rank != root) {
    const Chunk from = leaf ? input(rank) : blocks(rank, blocks_under(rank, ranks, root));
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
            return scatter(binomial_node(rank, ranks, root), rank, ranks, root, input, 0);
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
            return gather(binomial_node(rank, ranks, root), rank, ranks, root, kept);
          }};
}

Schedule binomial_tree_all_gather(int ranks, int root) {
  return {.collective = Collective::all_gather,
          .algorithm = "binomial_tree",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::all_gather, ranks, 1),
          .phases = {"gather", "broadcast"},
          .steps = [ranks](int rank, int) {
            const TreeNode node = binomial_node(rank, ranks, 0);
            const Chunk all = output(0, ranks);
            return in_order(gather(node, rank, ranks, 0, output),
                            broadcast_down(node, all, all, 1));
          }};
}

Schedule binomial_tree_reduce_scatter(int ranks, int root) {
  return {.collective = Collective::reduce_scatter,
          .algorithm = "binomial_tree",
          .ranks = ranks,
          .root = root,
          .layout = make_layout(Collective::reduce_scatter, ranks, 1),
          .phases = {"reduce", "scatter"},
          .steps = [ranks](int rank, int) {
            const TreeNode node = binomial_node(rank, ranks, 0);
            return in_order(reduce_up(node, input(0, ranks), kept(0, ranks), 0),
                            scatter(node, rank, ranks, 0, kept, 1));
          }};
}

}  // namespace rondo
