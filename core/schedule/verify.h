// The verifier: proves that a schedule, or the programs lowered from it, are right for their number
// of ranks. It checks:
//
// - Every expected output chunk holds exactly the contributions that it must.
// - Nothing is read that was never written.
// - Input is not read after output of the same chunk was written. So input and output may be the
//   same memory.
// - Lanes share no memory.
// - There is no wait cycle at the declared depth, and nothing is left in a channel.
// - All ranks combine a chunk in the same order. Scans combine in the order of ranks.
// - Programs only: dependencies order every two ops of a rank that conflict.
// - Merged programs only: stages order every two ops of different ranks that conflict (races.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/schedule/op.h"
#include "core/schedule/program.h"
#include "core/schedule/schedule.h"

namespace rondo {

struct Report {
  bool exact = true;  ///< contributors compared as sets; false: as 64-bit fingerprints
  std::uint64_t ops = 0;
  std::uint64_t messages = 0;
  bool order_agrees = true;  ///< all ranks combine a chunk's contributions by the same tree
  /// Every chunk is combined at once, from rank 0's contribution on.
  bool rank_order = true;
  /// Each names rank, lane, step, phase, round and chunk where they matter. At most 20 are kept.
  std::vector<std::string> findings{};
  std::uint64_t suppressed = 0;  ///< findings beyond those kept
  bool completed = true;         ///< every lane ran to its end: no wait cycle

  bool ok() const { return findings.empty(); }
};

/// Never throws for a wrong schedule: what is wrong is a finding.
Report verify(const Schedule& schedule, const LineOf& line_of = {});

/// The same for lowered programs, one of each rank, run in program order at the schedule's depth.
/// The steps of `header` are not used.
Report verify(const Schedule& header, std::span<const Program> programs);

}  // namespace rondo
