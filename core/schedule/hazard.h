// Hazards: two ops of one rank touch the same thing, and at least one of them changes it.
// Dependencies must order such ops, since executors run ops and passes ahead where dependencies
// allow.
//
//   thing               within a pass                     between passes
//   output, input       ordered (input may be output)     other slices, so nothing to order
//   scratch             ordered                           ordered: passes share it
//   channel (one way)   ordered: messages keep order      ordered
#pragma once

#include <functional>
#include <string>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// Calls `complain` for every pair of neighbouring uses that no path of dependencies orders. The
/// program's ops are sound (see defect() in op.h) and its dependencies free of cycles.
/// O(ops^2 / 64) time and memory.
void find_hazards(const Schedule& header, const Program& program, int rank,
                  const std::function<void(const std::string&)>& complain);

}  // namespace rondo
