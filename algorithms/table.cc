#include "algorithms/table.h"

#include "algorithms/binomial_tree.h"
#include "algorithms/bruck.h"
#include "algorithms/chain.h"
#include "algorithms/circulant.h"
#include "algorithms/dissemination.h"
#include "algorithms/double_tree.h"
#include "algorithms/linear.h"
#include "algorithms/one_shot.h"
#include "algorithms/pairwise.h"
#include "algorithms/recursive_doubling.h"
#include "algorithms/ring.h"
#include "algorithms/two_shot.h"

namespace rondo {
namespace {

using enum Collective;

// Collective, name, what it does, {rounds, hops, sent, reduced}, rank order, builder.
// clang-format off
constexpr Algorithm rows[] = {
    {all_reduce, "ring", "neighbours only, least traffic",
     {"2(P-1)", "2(P-1)", "2(P-1)/P", "(P-1)/P"}, false, ring_all_reduce},
    {all_reduce, "segmented_ring", "a ring whose chunks travel in halves",
     {"4(P-1)", "4(P-1)", "2(P-1)/P", "(P-1)/P"}, false, segmented_ring_all_reduce},
    {all_reduce, "bidirectional_ring", "two rings in opposite directions",
     {"2(P-1)", "2(P-1)", "2(P-1)/P", "(P-1)/P"}, false, bidirectional_ring_all_reduce},
    {all_reduce, "two_shot", "each rank adds up a chunk and sends it to all",
     {"2(P-1)", "2", "2(P-1)/P", "(P-1)/P"}, true, two_shot_all_reduce},
    {all_reduce, "circulant", "fewest rounds, least traffic, any number of ranks",
     {"2q", "2q", "2(P-1)/P", "(P-1)/P"}, false, circulant_all_reduce},
    {all_reduce, "double_tree", "two binary trees, half of the vector each",
     {"2(q+floor(log2(P))-1)", "2q", "min(2,P/2)", "1"}, false, double_tree_all_reduce},
    {all_reduce, "one_shot", "every rank sends everything to every rank",
     {"P-1", "1", "P-1", "P-1"}, true, one_shot_all_reduce},
    {all_reduce, "recursive_doubling", "partners swap sums; each round doubles their ranks",
     {"2q-floor(log2(P))", "q-floor(log2(P))+ceil(log2(2P/3))", "q", "q"}, false,
     recursive_doubling_all_reduce},
    {all_reduce, "binomial_tree", "reduce to rank 0, broadcast from it",
     {"2q", "2floor(log2(P))", "q", "q"}, false, binomial_tree_all_reduce},
    {all_reduce, "chain", "along the line of ranks and back, pipelined",
     {"2(P-1)", "2(P-1)", "min(2,P-1)", "1"}, false, chain_all_reduce},

    {reduce_scatter, "ring", "neighbours only, least traffic",
     {"P-1", "P-1", "(P-1)/P", "(P-1)/P"}, false, ring_reduce_scatter},
    {reduce_scatter, "segmented_ring", "a ring whose chunks travel in halves",
     {"2(P-1)", "2(P-1)", "(P-1)/P", "(P-1)/P"}, false, segmented_ring_reduce_scatter},
    {reduce_scatter, "bidirectional_ring", "two rings in opposite directions",
     {"P-1", "P-1", "(P-1)/P", "(P-1)/P"}, false, bidirectional_ring_reduce_scatter},
    {reduce_scatter, "circulant", "fewest rounds, least traffic, any number of ranks",
     {"q", "q", "(P-1)/P", "(P-1)/P"}, false, circulant_reduce_scatter},
    {reduce_scatter, "one_shot", "block j straight to rank j",
     {"P-1", "1", "(P-1)/P", "(P-1)/P"}, true, one_shot_reduce_scatter},
    {reduce_scatter, "binomial_tree", "reduce to rank 0, scatter from it",
     {"2q", "2floor(log2(P))", "1+(max(P-2^(q-1),2^(q-2))-1)/P", "q"}, false,
     binomial_tree_reduce_scatter},

    {all_gather, "ring", "neighbours only, least traffic",
     {"P-1", "P-1", "(P-1)/P", "0"}, false, ring_all_gather},
    {all_gather, "segmented_ring", "a ring whose chunks travel in halves",
     {"2(P-1)", "2(P-1)", "(P-1)/P", "0"}, false, segmented_ring_all_gather},
    {all_gather, "bidirectional_ring", "two rings in opposite directions",
     {"P-1", "P-1", "(P-1)/P", "0"}, false, bidirectional_ring_all_gather},
    {all_gather, "circulant", "fewest rounds, least traffic, any number of ranks",
     {"q", "q", "(P-1)/P", "0"}, false, circulant_all_gather},
    {all_gather, "one_shot", "every rank sends its block to every rank",
     {"P-1", "1", "(P-1)/P", "0"}, false, one_shot_all_gather},
    {all_gather, "binomial_tree", "gather at rank 0, broadcast from it",
     {"2q", "2floor(log2(P))", "q", "0"}, false, binomial_tree_all_gather},

    {broadcast, "ring", "round the ring from the root, pipelined",
     {"P-1", "P-1", "1", "0"}, false, ring_broadcast},
    {broadcast, "chain", "along the line of ranks from the root, pipelined",
     {"P-1", "P-1", "1", "0"}, false, chain_broadcast},
    {broadcast, "double_tree", "two binary trees, half of the vector each",
     {"q+floor(log2(P))-1", "q", "1", "0"}, false, double_tree_broadcast},
    {broadcast, "binomial_tree", "each round doubles the ranks that have it",
     {"q", "floor(log2(P))", "q", "0"}, false, binomial_tree_broadcast},
    {broadcast, "one_shot", "the root sends to every rank",
     {"P-1", "1", "P-1", "0"}, false, one_shot_broadcast},

    {reduce, "ring", "round the ring to the root, pipelined",
     {"P-1", "P-1", "1", "1"}, false, ring_reduce},
    {reduce, "chain", "along the line of ranks to the root, pipelined",
     {"P-1", "P-1", "1", "1"}, false, chain_reduce},
    {reduce, "double_tree", "two binary trees, half of the vector each",
     {"q+floor(log2(P))-1", "q", "1", "1"}, false, double_tree_reduce},
    {reduce, "binomial_tree", "each round halves the ranks that have a sum",
     {"q", "floor(log2(P))", "1", "q"}, false, binomial_tree_reduce},
    {reduce, "two_shot", "each rank adds up a chunk, the root gathers them",
     {"2(P-1)", "2", "1", "(P-1)/P"}, true, two_shot_reduce},
    {reduce, "one_shot", "every rank sends to the root",
     {"P-1", "1", "1", "P-1"}, true, one_shot_reduce},

    {all_to_all, "pairwise", "one partner a round",
     {"P-1", "P-1", "(P-1)/P", "0"}, false, pairwise_all_to_all},
    {all_to_all, "linear", "all messages at once",
     {"P-1", "1", "(P-1)/P", "0"}, false, linear_all_to_all},
    {all_to_all, "bruck", "fewest messages, blocks travel by powers of two",
     {"q", "q", "ones(P)/P", "0"}, false, bruck_all_to_all},

    {scatter, "linear", "the root sends each block",
     {"P-1", "1", "(P-1)/P", "0"}, false, linear_scatter},
    {scatter, "binomial_tree", "a subtree's blocks in one message",
     {"q", "floor(log2(P))", "(P-1)/P", "0"}, false, binomial_tree_scatter},

    {gather, "linear", "the root receives each block",
     {"P-1", "1", "1/P", "0"}, false, linear_gather},
    {gather, "binomial_tree", "a subtree's blocks in one message",
     {"q", "floor(log2(P))", "max(P-2^(q-1),2^(q-2))/P", "0"}, false, binomial_tree_gather},

    {barrier, "dissemination", "each round doubles the ranks that a rank knows of",
     {"q", "q", "0", "0"}, false, dissemination_barrier},
    {barrier, "one_shot", "every rank tells every rank",
     {"P-1", "1", "0", "0"}, false, one_shot_barrier},

    {send_recv, "linear", "one message",
     {"1", "1", "1", "0"}, false, linear_send_recv},
};
// clang-format on

}  // namespace

std::span<const Algorithm> algorithms() { return rows; }

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
  for (const Algorithm& row : rows) {
    if (row.collective == collective && row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace rondo
