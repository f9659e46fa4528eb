// The cost of a collective call by each of the library's algorithms, as formulas in P (ranks) and q
// (ceil(log2 P)). N is the whole vector, all blocks together.
//
// Messages and bytes sent are means over the ranks, as a run counts them: a tree's inner ranks send
// more than its leaves. Rounds, and the bytes that the busiest rank sends and adds, are those of
// the algorithm's cost line in `rondo list`.
#pragma once

#include <string_view>

namespace rondo::train {

enum class CallKind : unsigned char { all_reduce, reduce_scatter, all_gather };

/// A formula as text, and its value for a number of ranks.
struct Term {
  std::string_view text;
  double (*value)(int ranks);
};

struct CallCost {
  std::string_view algorithm;
  Term messages;  ///< sent by a rank, mean over the ranks
  Term sent;      ///< in N, mean over the ranks
  Term rounds;
  Term most_sent;  ///< in N, by the busiest rank
  Term added;      ///< in N, by the busiest rank; an all_gather adds nothing
};

/// nullptr if there is no such algorithm, or it does not have this call.
const CallCost* find_call_cost(CallKind kind, std::string_view algorithm);
/// Whether it sends as few bytes as a ring, for every number of ranks.
bool sends_as_a_ring(CallKind kind, const CallCost& cost);

}  // namespace rondo::train
