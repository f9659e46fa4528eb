#include "algorithms/table.h"

#include <algorithm>

#include "algorithms/builders.h"
#include "algorithms/tree.h"

namespace rondo {
namespace {

using enum Collective;

constexpr BlockCut whole;
constexpr BlockCut by_rank{.by_rank = true};
constexpr BlockCut by_lane{.lanes = 2};
constexpr BlockCut by_rank_and_lane{.by_rank = true, .lanes = 2};
constexpr BlockCut bundled{.bundled = true};
constexpr BlockCut passed_on{.passed_on = true};
constexpr BlockCut passed_on_by_lane{.lanes = 2, .passed_on = true};
constexpr bool in_rank_order = true;

// Collective, name, what it does, {rounds, hops, sent, reduced}, {phases}, steps, cut, order.
// clang-format off
constexpr Algorithm rows[] = {
    {all_reduce, "ring", "neighbours only, least traffic",
     {"2(P-1)", "2(P-1)", "2(P-1)/P", "(P-1)/P"},
     {"reduce-scatter", "all-gather"}, ring_all_reduce, by_rank},
    {all_reduce, "bidirectional_ring", "two rings in opposite directions",
     {"2(P-1)", "2(P-1)", "2(P-1)/P", "(P-1)/P"},
     {"reduce-scatter", "all-gather"}, ring_all_reduce, by_rank_and_lane},
    {all_reduce, "two_shot", "each rank adds up a chunk and sends it to all",
     {"2(P-1)", "2", "2(P-1)/P", "(P-1)/P"},
     {"reduce-scatter", "all-gather"}, two_shot_all_reduce, by_rank, in_rank_order},
    {all_reduce, "circulant", "fewest rounds, least traffic, any number of ranks",
     {"2q", "2q", "2(P-1)/P", "(P-1)/P"},
     {"reduce-scatter", "all-gather"}, circulant_all_reduce, by_rank},
    {all_reduce, "double_tree", "two binary trees, half of the vector each",
     {"2(q+floor(log2(P))-1)", "2q", "min(2,P/2)", "1"},
     {"reduce", "broadcast"}, tree_all_reduce<double_tree_node>,
     passed_on_by_lane},
    {all_reduce, "one_shot", "every rank sends everything to every rank",
     {"P-1", "1", "P-1", "P-1"}, {"all-reduce"}, one_shot_all_reduce, whole, in_rank_order},
    {all_reduce, "recursive_doubling", "partners swap sums; each round doubles their ranks",
     {"2q-floor(log2(P))", "q-floor(log2(P))+ceil(log2(2P/3))", "q", "q"},
     {"fold", "exchange", "unfold"}, recursive_doubling_all_reduce},
    {all_reduce, "binomial_tree", "reduce to rank 0, broadcast from it",
     {"2q", "2floor(log2(P))", "q", "q"}, {"reduce", "broadcast"}, tree_all_reduce<binomial_node>},
    {all_reduce, "chain", "along the line of ranks and back, pipelined",
     {"2(P-1)", "2(P-1)", "min(2,P-1)", "1"}, {"reduce", "broadcast"}, tree_all_reduce<chain_node>,
     passed_on},

    {reduce_scatter, "ring", "neighbours only, least traffic",
     {"P-1", "P-1", "(P-1)/P", "(P-1)/P"}, {"reduce-scatter"}, ring_reduce_scatter},
    {reduce_scatter, "bidirectional_ring", "two rings in opposite directions",
     {"P-1", "P-1", "(P-1)/P", "(P-1)/P"}, {"reduce-scatter"}, ring_reduce_scatter, by_lane},
    {reduce_scatter, "circulant", "fewest rounds, least traffic, any number of ranks",
     {"q", "q", "(P-1)/P", "(P-1)/P"}, {"reduce-scatter"}, circulant_reduce_scatter, bundled},
    {reduce_scatter, "one_shot", "block j straight to rank j",
     {"P-1", "1", "(P-1)/P", "(P-1)/P"},
     {"reduce-scatter"}, one_shot_reduce_scatter, whole, in_rank_order},
    {reduce_scatter, "binomial_tree", "reduce to rank 0, scatter from it",
     {"2q", "2floor(log2(P))", "1+(max(P-2^(q-1),2^(q-2))-1)/P", "q"},
     {"reduce", "scatter"}, binomial_tree_reduce_scatter, bundled},

    {all_gather, "ring", "neighbours only, least traffic",
     {"P-1", "P-1", "(P-1)/P", "0"}, {"all-gather"}, ring_all_gather},
    {all_gather, "bidirectional_ring", "two rings in opposite directions",
     {"P-1", "P-1", "(P-1)/P", "0"}, {"all-gather"}, ring_all_gather, by_lane},
    {all_gather, "circulant", "fewest rounds, least traffic, any number of ranks",
     {"q", "q", "(P-1)/P", "0"}, {"all-gather"}, circulant_all_gather, bundled},
    {all_gather, "one_shot", "every rank sends its block to every rank",
     {"P-1", "1", "(P-1)/P", "0"}, {"all-gather"}, one_shot_all_gather},
    {all_gather, "binomial_tree", "gather at rank 0, broadcast from it",
     {"2q", "2floor(log2(P))", "q", "0"},
     {"gather", "broadcast"}, binomial_tree_all_gather, bundled},

    {broadcast, "ring", "round the ring from the root, pipelined",
     {"P-1", "P-1", "1", "0"}, {"broadcast"}, tree_broadcast<chain_node>, passed_on},
    {broadcast, "chain", "along the line of ranks from the root, pipelined",
     {"P-1", "P-1", "1", "0"}, {"broadcast"}, tree_broadcast<chain_node>, passed_on},
    {broadcast, "double_tree", "two binary trees, half of the vector each",
     {"q+floor(log2(P))-1", "q", "1", "0"},
     {"broadcast"}, tree_broadcast<double_tree_node>, passed_on_by_lane},
    {broadcast, "binomial_tree", "each round doubles the ranks that have it",
     {"q", "floor(log2(P))", "q", "0"}, {"broadcast"}, tree_broadcast<binomial_node>},
    {broadcast, "one_shot", "the root sends to every rank",
     {"P-1", "1", "P-1", "0"}, {"broadcast"}, one_shot_broadcast},

    {reduce, "ring", "round the ring to the root, pipelined",
     {"P-1", "P-1", "1", "1"}, {"reduce"}, tree_reduce<chain_node>, passed_on},
    {reduce, "chain", "along the line of ranks to the root, pipelined",
     {"P-1", "P-1", "1", "1"}, {"reduce"}, tree_reduce<chain_node>, passed_on},
    {reduce, "double_tree", "two binary trees, half of the vector each",
     {"q+floor(log2(P))-1", "q", "1", "1"}, {"reduce"}, tree_reduce<double_tree_node>,
     passed_on_by_lane},
    {reduce, "binomial_tree", "each round halves the ranks that have a sum",
     {"q", "floor(log2(P))", "1", "q"}, {"reduce"}, tree_reduce<binomial_node>},
    {reduce, "two_shot", "each rank adds up a chunk, the root gathers them",
     {"2(P-1)", "2", "1", "(P-1)/P"},
     {"reduce-scatter", "gather"}, two_shot_reduce, by_rank, in_rank_order},
    {reduce, "one_shot", "every rank sends to the root",
     {"P-1", "1", "1", "P-1"}, {"reduce"}, one_shot_reduce, whole, in_rank_order},

    {scan, "chain", "along the line of ranks, pipelined",
     {"P-1", "P-1", "1", "1"}, {"scan"}, chain_scan, passed_on},
    {scan, "recursive_doubling", "each round doubles the ranks summed",
     {"q", "floor(log2(P))", "q", "q"}, {"scan"}, recursive_doubling_scan},
    {scan, "one_shot", "every rank sends to the ranks above",
     {"P-1", "1", "P-1", "P-1"}, {"scan"}, one_shot_scan, whole, in_rank_order},

    {exclusive_scan, "chain", "along the line of ranks, pipelined",
     {"P-1", "P-1", "1", "min(1,max(0,P-2))"}, {"scan"}, chain_exclusive_scan, passed_on},
    {exclusive_scan, "recursive_doubling", "each round doubles the ranks summed",
     {"q", "floor(log2(P))", "q", "max(0,q-3+max(2,ceil(log2(2P/3))))"}, {"scan"}, recursive_doubling_exclusive_scan},
    {exclusive_scan, "one_shot", "every rank sends to the ranks above",
     {"P-1", "1", "P-1", "max(0,P-2)"}, {"scan"}, one_shot_exclusive_scan, whole, in_rank_order},

    {all_to_all, "pairwise", "one partner a round",
     {"P-1", "P-1", "(P-1)/P", "0"}, {"exchange"}, pairwise_all_to_all},
    {all_to_all, "linear", "all messages at once",
     {"P-1", "1", "(P-1)/P", "0"}, {"exchange"}, linear_all_to_all},
    {all_to_all, "bruck", "fewest messages, blocks travel by powers of two",
     {"q", "q", "ones(P)/P", "0"}, {"exchange", "arrange"}, bruck_all_to_all, bundled},

    {scatter, "linear", "the root sends each block",
     {"P-1", "1", "(P-1)/P", "0"}, {"scatter"}, linear_scatter},
    {scatter, "binomial_tree", "a subtree's blocks in one message",
     {"q", "floor(log2(P))", "(P-1)/P", "0"}, {"scatter"}, binomial_tree_scatter, bundled},

    {gather, "linear", "the root receives each block",
     {"P-1", "1", "1/P", "0"}, {"gather"}, linear_gather},
    {gather, "binomial_tree", "a subtree's blocks in one message",
     {"q", "floor(log2(P))", "max(P-2^(q-1),2^(q-2))/P", "0"},
     {"gather"}, binomial_tree_gather, bundled},

    {barrier, "dissemination", "each round doubles the ranks that a rank knows of",
     {"q", "q", "0", "0"}, {"barrier"}, dissemination_barrier},
    {barrier, "one_shot", "every rank tells every rank",
     {"P-1", "1", "0", "0"}, {"barrier"}, one_shot_all_reduce},

    {send_recv, "linear", "one message",
     {"1", "1", "1", "0"}, {"message"}, linear_send_recv},
};
// clang-format on

}  // namespace

Schedule Algorithm::build(int ranks, int root) const {
  const int chunks = (cut.by_rank ? ranks : 1) * cut.lanes;
  Schedule schedule{.collective = collective,
                    .algorithm = std::string(name),
                    .ranks = ranks,
                    .root = root,
                    .lanes = cut.lanes,
                    .layout = make_layout(collective, ranks, chunks)};
  for (const std::string_view phase : phases)
    if (!phase.empty()) schedule.phases.emplace_back(phase);
  schedule.steps = [ranks, root, lanes = cut.lanes, steps = steps](int rank, int lane) {
    return steps({rank, ranks, root, lane, lanes});
  };
  return schedule;
}

int Algorithm::longest_message(int ranks, int root) const {
  std::uint32_t longest = 1;
  for (int distance = 0; distance < ranks; distance = std::max(1, 2 * distance)) {
    for (int lane = 0; lane < cut.lanes; ++lane) {
      Steps all = steps({wrap(root + distance, ranks), ranks, root, lane, cut.lanes});
      while (const Step* step = all.next())
        if (step->kind == StepKind::send) longest = std::max(longest, step->from.count);
    }
  }
  return static_cast<int>(longest);
}

std::span<const Algorithm> algorithms() { return rows; }

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
  for (const Algorithm& row : rows) {
    if (row.collective == collective && row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace rondo
