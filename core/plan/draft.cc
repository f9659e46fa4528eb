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
  return draft.op.writes && overlap(draft.op.into, chunk, chunks);
}

}  // namespace rondo
