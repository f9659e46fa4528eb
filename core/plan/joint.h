// Joint plans: what one thread runs for all ranks, where it reaches all their memory. Of a merged
// program's ops (merge.h), those that make the same chunk of the same operands are one, which stores
// it wherever it is wanted:
//
//   rank 0   {input[0], 1's input[0]} -> output[0]
//   rank 1   {0's input[0], input[0]} -> output[0]
//                                     =>   {0's input[0], 1's input[0]} -> output[0] of all
//
// So everything is read once. Calls may be in place, but all_to_all: what is read and written there is one
// op's.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/schedule/layout.h"
#include "core/schedule/program.h"

namespace rondo {

struct JointOp {
  Chunk into{};                     ///< in the outputs of its targets
  std::vector<Operand> operands{};  ///< all of them are places
  friend auto operator<=>(const JointOp&, const JointOp&) = default;
};

/// Its ops need no order.
struct JointPlan {
  Layout layout{};
  std::map<JointOp, std::vector<std::int32_t>> ops{};  ///< and their targets
};

/// Those of a communicator's collectives and roots, each made when first wanted. They are of the
/// algorithms of one stage, which make sums in the order of ranks. Not thread-safe.
class JointPlans {
 public:
  explicit JointPlans(int ranks) : ranks_(ranks) {}
  const JointPlan& of(Collective collective, int root);

 private:
  int ranks_;
  std::map<std::pair<Collective, int>, JointPlan> plans_{};
};

}  // namespace rondo
