// Draft: an op while lowering still rearranges it. Private to core/plan.
#pragma once

#include <optional>
#include <vector>

#include "core/schedule/program.h"

namespace rondo {

struct Draft {
  std::vector<Operand> operands{};
  std::optional<Chunk> into{};
  int out_peer = -1;
  int lane = 0;
  std::uint16_t phase = 0;
  std::uint32_t round = 0;
  Chunk extent{};
  bool alive = true;  ///< false: fused into another draft

  bool receives_from(int peer) const {
    for (const Operand& operand : operands) {
      if (operand.is_channel() && operand.peer == peer) return true;
    }
    return false;
  }
};

/// Whether two runs may share memory. input and output count as the same memory: calls may be in
/// place. `chunks`: the layout's size, for runs that wrap.
bool overlap(const Chunk& a, const Chunk& b, int chunks);

bool reads(const Draft& draft, const Chunk& chunk, int chunks);
bool writes(const Draft& draft, const Chunk& chunk, int chunks);

/// One lane's steps as drafts, one each, in order.
Draft draft_of(const Step& step, int lane);

/// Fuses one lane's drafts in place; dead ones are removed.
void fuse(std::vector<Draft>& drafts, int chunks);

}  // namespace rondo
