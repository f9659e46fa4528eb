#include "core/plan/draft.h"

#include <algorithm>

namespace rondo {
namespace {

/// Half-open pieces of a run: one, or two when it wraps.
struct Pieces {
  int begin[2];
  int end[2];
  int count;
};

Pieces pieces_of(const Chunk& run, int chunks) {
  const auto first = static_cast<int>(run.first);
  const int last = first + static_cast<int>(run.count);
  if (last <= chunks) return {{first, 0}, {last, 0}, 1};
  return {{first, 0}, {chunks, last - chunks}, 2};
}

bool same_memory(const Chunk& a, const Chunk& b) {
  const bool a_scratch = a.buffer == Buffer::scratch;
  const bool b_scratch = b.buffer == Buffer::scratch;
  return a_scratch == b_scratch && (!a_scratch || a.slot == b.slot);
}

Operand local(const Chunk& chunk) { return {-1, chunk}; }
Operand channel(int peer, const Chunk& extent) { return {peer, extent}; }

}  // namespace

bool overlap(const Chunk& a, const Chunk& b, int chunks) {
  if (!same_memory(a, b)) return false;
  const Pieces left = pieces_of(a, chunks);
  const Pieces right = pieces_of(b, chunks);
  for (int i = 0; i < left.count; ++i) {
    for (int j = 0; j < right.count; ++j) {
      if (left.begin[i] < right.end[j] && right.begin[j] < left.end[i]) return true;
    }
  }
  return false;
}

bool reads(const Draft& draft, const Chunk& chunk, int chunks) {
  return std::any_of(draft.operands.begin(), draft.operands.end(), [&](const Operand& operand) {
    return !operand.is_channel() && overlap(operand.chunk, chunk, chunks);
  });
}

bool writes(const Draft& draft, const Chunk& chunk, int chunks) {
  return draft.into && overlap(*draft.into, chunk, chunks);
}

Draft draft_of(const Step& step, int lane) {
  Draft draft{.lane = lane, .phase = step.phase, .round = step.round};
  switch (step.kind) {
    case StepKind::send:
      draft.operands = {local(step.from)};
      draft.out_peer = step.peer;
      draft.extent = step.from;
      return draft;
    case StepKind::receive:
      draft.operands = {channel(step.peer, step.into)};
      break;
    case StepKind::receive_reduce:
      draft.operands = {channel(step.peer, step.from), local(step.from)};
      if (step.order == Order::local_first) std::swap(draft.operands[0], draft.operands[1]);
      break;
    case StepKind::reduce:
      for (std::uint32_t i = 0; i < step.operands; ++i) {
        Chunk operand = step.from;
        operand.slot = static_cast<std::uint16_t>(operand.slot + i);
        draft.operands.push_back(local(operand));
      }
      break;
    case StepKind::copy:
      draft.operands = {local(step.from)};
      break;
  }
  draft.into = step.into;
  draft.extent = step.into;
  return draft;
}

}  // namespace rondo
