// The verifier: proves a schedule, or the programs lowered from it, right for its number of ranks.
//
// Checked: every expected output chunk holds exactly the contributions it must; nothing is read
// that was never written; input is not read after output of the same chunk was written (so input
// and output may be the same memory); lanes share no memory; no wait cycle at the declared depth;
// nothing is left in a channel; all ranks combine a chunk in the same order. Programs also: every
// conflict between two ops of a rank is ordered by their dependencies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"

namespace rondo {

struct Report {
  bool exact = true;  ///< contributors compared as sets; false: as 64-bit fingerprints
  std::uint64_t ops = 0;
  std::uint64_t messages = 0;
  bool order_agrees = true;  ///< all ranks combine a chunk's contributions by the same tree
  bool one_tree = true;      ///< and the tree is the same for all chunks
  /// Every chunk is combined at once from rank 0's contribution to rank P-1's.
  bool rank_order = true;
  /// Each names rank, lane, step, phase, round and chunk where they matter. At most 20 are kept.
  std::vector<std::string> findings{};
  std::uint64_t suppressed = 0;  ///< findings beyond those kept

  bool ok() const { return findings.empty(); }
};

/// Never throws for a wrong schedule: what is wrong is a finding.
Report verify(const Schedule& schedule);

/// The same for lowered programs, one of each rank, run in program order at the schedule's depth.
/// Of `header` everything but its steps is used.
Report verify(const Schedule& header, std::span<const Program> programs);

}  // namespace rondo
