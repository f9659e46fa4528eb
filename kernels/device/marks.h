// Marks: what a launch writes in words that the host and other ranks look at, when it begins and when
// all its blocks have ended. Operations of the stream around each kernel would take longer than a small
// call does.
//
//   block 0   begin | its part | counts itself
//   block 1     begin | its part | counts itself: the last one, so it writes the marks of the end
//
// A replay in windows marks its begin in every block, with the same values: before a block touches what
// others may take away once they see no mark. Else block 0 alone does.
//
// After its last mark a launch touches no memory: whoever sees the mark may take all memory away.
//
// Cost: a fence and an exchange with memory at the end of each block. The first fence of a block that has
// marked the begin waits until the host's memory has it.
#pragma once

#include "kernels/device/fences.h"

namespace rondo::device {

struct Mark {
  std::uint32_t* word = nullptr;  ///< null: none, nor any after it
  std::uint32_t value = 0;
};

/// By value, so that a captured launch makes the same ones at each replay.
struct Marks {
  static constexpr std::uint32_t most_begun = 4;
  static constexpr std::uint32_t most_ended = 2;

  /// Blocks that have ended, in this rank's memory. 0 between launches, which follow each other. Null:
  /// nobody looks.
  std::uint64_t* blocks_ended = nullptr;
  /// A replay in windows. Its communicator may have been aborted long ago, and windows may be gone.
  bool in_every_block = false;
  Mark begun[most_begun]{};
  Mark ended[most_ended]{};
};

/// Called by all threads of team `number`.
template <class Team>
RONDO_DEVICE inline void mark_begin(const Team& team, const Marks& marks, std::uint32_t number) {
  if (team.lane() != 0 || (number != 0 && !marks.in_every_block)) return;
  for (const Mark& mark : marks.begun) {
    if (mark.word == nullptr) return;
    // Relaxed: releases of the team follow where data depend on it.
    store_relaxed_32(mark.word, mark.value);
  }
}

/// Collective, of the teams of the launch. Whoever sees a mark by an acquire also sees all that any of them
/// did.
template <class Team>
RONDO_DEVICE inline void mark_end(Team& team, const Marks& marks, std::uint32_t teams) {
  if (marks.blocks_ended == nullptr) return;
  team.synchronize();
  if (team.lane() != 0 || count_up(marks.blocks_ended) + 1 < teams) return;
  store_relaxed(marks.blocks_ended, 0);  // the next launch begins when this one has ended
  for (const Mark& mark : marks.ended) {
    if (mark.word != nullptr) store_release_32(mark.word, mark.value);  // with the host's acquires
  }
}

}  // namespace rondo::device
