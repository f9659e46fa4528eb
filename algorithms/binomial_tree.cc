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
#include <algorithm>

#include "algorithms/builders.h"
#include "algorithms/tree.h"

namespace rondo {
namespace {

/// The place of `count` blocks, beginning with block `first`.
using ChunkOf = Chunk (*)(int first, int count);
Chunk kept(int first, int count) { return scratch(0, first, count); }

/// How many blocks travel over the edge above `top`: one for every rank below that edge.
int blocks_under(int top, RankInLane at) {
  return binomial_subtree_size(wrap(top - at.root, at.ranks), at.ranks);
}

/// Hands out the blocks of the root's `source`. Leaves receive straight into place. Inner nodes
/// keep what they pass on in scratch.
Steps scatter(RankInLane at, ChunkOf source, int phase) {
  const TreeNode node = binomial_node(at);
  const ChunkOf blocks = at.rank == at.root ? source : kept;
  const bool leaf = at.rank != at.root && node.children.empty();
  if (at.rank != at.root) {
    const Chunk into = leaf ? output(at.rank) : blocks(at.rank, blocks_under(at.rank, at));
    co_yield receive(node.parent.peer, into).at(phase, node.parent.level);
  }
  for (const Edge& child : node.children) {
    const Chunk part = blocks(child.peer, blocks_under(child.peer, at));
    co_yield send(child.peer, part).at(phase, child.level);
  }
  if (!leaf) co_yield copy(blocks(at.rank, 1), output(at.rank)).at(phase, 0);
}

/// Does the same backwards, into the root's output. Inner nodes keep what they pass on in `place`.
Steps gather(RankInLane at, ChunkOf place) {
  const TreeNode node = binomial_node(at);
  const ChunkOf blocks = at.rank == at.root ? ChunkOf(output) : place;
  const bool leaf = at.rank != at.root && node.children.empty();
  if (!leaf) co_yield copy(input(at.rank), blocks(at.rank, 1));
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
    const Chunk part = blocks(child->peer, blocks_under(child->peer, at));
    co_yield receive(child->peer, part).at(0, node.reduce_round(*child));
  }
  if (at.rank != at.root) {
    const Chunk from = leaf ? input(at.rank) : blocks(at.rank, blocks_under(at.rank, at));
    co_yield send(node.parent.peer, from).at(0, node.reduce_round(node.parent));
  }
}

}  // namespace

TreeNode binomial_node(RankInLane at) {
  const int distance = wrap(at.rank - at.root, at.ranks);
  TreeNode node{.height = log2_ceiling(at.ranks)};
  for (int level = 0; level < node.height; ++level) {
    const int hop = 1 << (node.height - 1 - level);
    const int place = distance % (2 * hop);
    if (place == hop) node.parent = {at.behind(hop), level};
    if (place == 0 && distance + hop < at.ranks) {
      node.children.push_back({at.ahead(hop), level});
    }
  }
  return node;
}

int binomial_subtree_size(int distance, int ranks) {
  return distance == 0 ? ranks : std::min(lowest_bit(distance), ranks - distance);
}

Steps binomial_tree_scatter(RankInLane at) { return scatter(at, input, 0); }

Steps binomial_tree_gather(RankInLane at) { return gather(at, kept); }

Steps binomial_tree_all_gather(RankInLane at) {
  at.root = 0;
  const Chunk all = output(0, at.ranks);
  return in_order(gather(at, output), broadcast_down(binomial_node(at), all, all, 1));
}

Steps binomial_tree_reduce_scatter(RankInLane at) {
  at.root = 0;
  const Chunk sums = kept(0, at.ranks);
  return in_order(reduce_up(binomial_node(at), input(0, at.ranks), sums, 0), scatter(at, kept, 1));
}

}  // namespace rondo
