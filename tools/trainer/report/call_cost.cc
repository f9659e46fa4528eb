#include <algorithm>
#include <array>
#include <span>

#include "tools/trainer/report/formulas.h"

namespace rondo::train {
namespace {

constexpr std::string_view share = "(P-1)/P", two_shares = "2(P-1)/P";
/// 2^floor(log2 P) ranks swap sums with each other in every round. Each other rank passes its
/// vector to one of them and gets the result back.
constexpr std::string_view swapped = "(2^floor(log2(P))floor(log2(P))+2(P-2^floor(log2(P))))/P";
/// Every edge of a binomial tree carries the whole vector one way, and the blocks of the ranks
/// below it the other way. Each block passes as many edges as its rank's number has binary ones.
constexpr std::string_view edges_and_blocks = "(P-1+ones(P)/P)/P";
constexpr std::string_view sum_and_blocks = "1+(max(P-2^(q-1),2^(q-2))-1)/P";

// Messages, sent, rounds, most sent, added. Each table begins with the ring.
constexpr std::array all_reduces{
    CallCost{"ring", "2(P-1)", two_shares, "2(P-1)", two_shares, share},
    CallCost{"segmented_ring", "4(P-1)", two_shares, "4(P-1)", two_shares, share},
    CallCost{"bidirectional_ring", "4(P-1)", two_shares, "2(P-1)", two_shares, share},
    CallCost{"two_shot", "2(P-1)", two_shares, "2(P-1)", two_shares, share},
    CallCost{"circulant", "2q", two_shares, "2q", two_shares, share},
    CallCost{"double_tree", "4(P-1)/P", two_shares, "2(q+floor(log2(P))-1)", "min(2,P/2)", "1"},
    CallCost{"one_shot", "P-1", "P-1", "P-1", "P-1", "P-1"},
    CallCost{"recursive_doubling", swapped, swapped, "2q-floor(log2(P))", "q", "q"},
    CallCost{"binomial_tree", two_shares, two_shares, "2q", "q", "q"},
    CallCost{"chain", two_shares, two_shares, "2(P-1)", "min(2,P-1)", "1"}};

constexpr std::array reduce_scatters{
    CallCost{"ring", "P-1", share, "P-1", share, share},
    CallCost{"segmented_ring", "2(P-1)", share, "2(P-1)", share, share},
    CallCost{"bidirectional_ring", "2(P-1)", share, "P-1", share, share},
    CallCost{"circulant", "q", share, "q", share, share},
    CallCost{"one_shot", "P-1", share, "P-1", share, share},
    CallCost{"binomial_tree", two_shares, edges_and_blocks, "2q", sum_and_blocks, "q"}};

constexpr std::array all_gathers{
    CallCost{"ring", "P-1", share, "P-1", share, "0"},
    CallCost{"segmented_ring", "2(P-1)", share, "2(P-1)", share, "0"},
    CallCost{"bidirectional_ring", "2(P-1)", share, "P-1", share, "0"},
    CallCost{"circulant", "q", share, "q", share, "0"},
    CallCost{"one_shot", "P-1", share, "P-1", share, "0"},
    CallCost{"binomial_tree", two_shares, edges_and_blocks, "2q", "q", "0"}};

}  // namespace

const CallCost* find_call_cost(Collective kind, std::string_view algorithm) {
  std::span<const CallCost> rows = all_gathers;
  if (kind == Collective::all_reduce) rows = all_reduces;
  if (kind == Collective::reduce_scatter) rows = reduce_scatters;
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const CallCost& one) { return one.algorithm == algorithm; });
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace rondo::train
