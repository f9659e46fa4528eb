// Schedules that users wrote, as executors take them.
#pragma once

#include <vector>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// The lowered programs of all ranks, verified. `schedule` must be right. `sends_from_place`: see lower().
/// Throws Error{invalid_argument} where it needs more than channels have, or where the programs could
/// wait for ever.
std::vector<Program> lower_written(const Schedule& schedule, bool sends_from_place = false);

}  // namespace rondo
