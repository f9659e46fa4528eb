// What a collective call costs by each of the library's algorithms, as formulas in P (ranks) and q
// (ceil(log2 P)); N is the vector, all blocks of it together.
//
// Messages and bytes sent are means over the ranks, since that is what a run counts: a tree's inner
// ranks send more than its leaves. Rounds, and what the busiest rank sends and adds, are the
// algorithm's cost line as `rondo list` shows it.
#pragma once

#include <string_view>

namespace rondo::train {

enum class CallKind : unsigned char { all_reduce, reduce_scatter, all_gather };

/// As people write it, and what it gives for a number of ranks.
struct Term {
  std::string_view text;
  double (*value)(int ranks);
};

struct CallCost {
  std::string_view algorithm;
  Term messages;  ///< that a rank sends, mean over the ranks
  Term sent;      ///< in N, mean over the ranks
  Term rounds;
  Term most_sent;  ///< in N, by the busiest rank
  Term added;      ///< in N, by the busiest rank; an all_gather adds nothing
};

/// nullptr for an algorithm that has no such call, or none of this name.
const CallCost* find_call_cost(CallKind kind, std::string_view algorithm);
/// Whether calls by it send as few bytes as calls round a ring, for every number of ranks.
bool sends_as_a_ring(CallKind kind, const CallCost& cost);

}  // namespace rondo::train
