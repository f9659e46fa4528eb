#include "tools/trainer/report/call_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

namespace rondo::train {
namespace {

int ceiling(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}
int floor_of_log2(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
}

constexpr Term nothing{"0", [](int) { return 0.0; }};
constexpr Term one{"1", [](int) { return 1.0; }};
constexpr Term q{"q", [](int p) { return 1.0 * ceiling(p); }};
constexpr Term two_q{"2q", [](int p) { return 2.0 * ceiling(p); }};
constexpr Term others{"P-1", [](int p) { return p - 1.0; }};
constexpr Term two_others{"2(P-1)", [](int p) { return 2 * (p - 1.0); }};
constexpr Term four_others{"4(P-1)", [](int p) { return 4 * (p - 1.0); }};
constexpr Term share{"(P-1)/P", [](int p) { return (p - 1.0) / p; }};
constexpr Term two_shares{"2(P-1)/P", [](int p) { return 2 * (p - 1.0) / p; }};
constexpr Term four_shares{"4(P-1)/P", [](int p) { return 4 * (p - 1.0) / p; }};
constexpr Term tree_rounds{"2(q+floor(log2(P))-1)",
                           [](int p) { return 2.0 * (ceiling(p) + floor_of_log2(p) - 1); }};
constexpr Term half_trees{"min(2,P/2)", [](int p) { return std::min(2.0, p / 2.0); }};
constexpr Term chained{"min(2,P-1)", [](int p) { return std::min(2.0, p - 1.0); }};
constexpr Term doubling_rounds{"2q-floor(log2(P))",
                               [](int p) { return 2.0 * ceiling(p) - floor_of_log2(p); }};
/// 2^floor(log2 P) ranks swap sums with each other in every round. Each other rank passes its
/// vector to one of them and gets the result back.
constexpr Term swapped{"(2^floor(log2(P))floor(log2(P))+2(P-2^floor(log2(P))))/P", [](int p) {
                         const int members = 1 << floor_of_log2(p);
                         return (members * floor_of_log2(p) + 2.0 * (p - members)) / p;
                       }};
/// Every edge of a binomial tree carries the whole vector one way, and the blocks of the ranks
/// below it the other way. Each block passes as many edges as its rank's number has binary ones.
constexpr Term edges_and_blocks{"(P-1+ones(P)/P)/P", [](int p) {
                                  int ones = 0;
                                  for (int rank = 0; rank < p; ++rank)
                                    ones += std::popcount(static_cast<unsigned>(rank));
                                  return (p - 1 + 1.0 * ones / p) / p;
                                }};
constexpr Term sum_and_blocks{"1+(max(P-2^(q-1),2^(q-2))-1)/P", [](int p) {
                                const double half = std::exp2(ceiling(p) - 1);
                                return 1 + (std::max(p - half, half / 2) - 1) / p;
                              }};

constexpr std::array all_reduces{
    CallCost{"ring", two_others, two_shares, two_others, two_shares, share},
    CallCost{"segmented_ring", four_others, two_shares, four_others, two_shares, share},
    CallCost{"bidirectional_ring", four_others, two_shares, two_others, two_shares, share},
    CallCost{"two_shot", two_others, two_shares, two_others, two_shares, share},
    CallCost{"circulant", two_q, two_shares, two_q, two_shares, share},
    CallCost{"double_tree", four_shares, two_shares, tree_rounds, half_trees, one},
    CallCost{"one_shot", others, others, others, others, others},
    CallCost{"recursive_doubling", swapped, swapped, doubling_rounds, q, q},
    CallCost{"binomial_tree", two_shares, two_shares, two_q, q, q},
    CallCost{"chain", two_shares, two_shares, two_others, chained, one}};

constexpr std::array reduce_scatters{
    CallCost{"ring", others, share, others, share, share},
    CallCost{"segmented_ring", two_others, share, two_others, share, share},
    CallCost{"bidirectional_ring", two_others, share, others, share, share},
    CallCost{"circulant", q, share, q, share, share},
    CallCost{"one_shot", others, share, others, share, share},
    CallCost{"binomial_tree", two_shares, edges_and_blocks, two_q, sum_and_blocks, q}};

constexpr std::array all_gathers{
    CallCost{"ring", others, share, others, share, nothing},
    CallCost{"segmented_ring", two_others, share, two_others, share, nothing},
    CallCost{"bidirectional_ring", two_others, share, others, share, nothing},
    CallCost{"circulant", q, share, q, share, nothing},
    CallCost{"one_shot", others, share, others, share, nothing},
    CallCost{"binomial_tree", two_shares, edges_and_blocks, two_q, q, nothing}};

std::span<const CallCost> rows_of(CallKind kind) {
  switch (kind) {
    case CallKind::all_reduce:
      return all_reduces;
    case CallKind::reduce_scatter:
      return reduce_scatters;
    case CallKind::all_gather:
      break;
  }
  return all_gathers;
}

}  // namespace

const CallCost* find_call_cost(CallKind kind, std::string_view algorithm) {
  const auto rows = rows_of(kind);
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const CallCost& one) { return one.algorithm == algorithm; });
  return row == rows.end() ? nullptr : &*row;
}

// Rows that send as much as the ring share the ring's term.
bool sends_as_a_ring(CallKind kind, const CallCost& cost) {
  return cost.sent.value == rows_of(kind).front().sent.value;
}

}  // namespace rondo::train
