// Draft: an op while lowering still rearranges it. Private to core/plan.
#pragma once

#include <vector>

#include "core/plan/lower.h"
#include "core/schedule/program.h"

namespace rondo {

struct Draft {
  Op op{};  ///< its operands and dependencies are not yet placed
  std::vector<Operand> operands{};
  bool alive = true;  ///< false: fused into another draft
};

/// Fuses one lane's drafts in place; dead ones are removed.
void fuse(std::vector<Draft>& drafts, int chunks, Fusion fusion);

}  // namespace rondo
