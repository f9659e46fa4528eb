// Schedules that users wrote, as executors take them.
#pragma once

#include "core/schedule/schedule.h"

namespace rondo {

/// Of a schedule that is right: throws Error{invalid_argument} where it needs more than channels have,
/// or where its lowered programs could wait for ever. `sends_from_place`: see lower().
void check_runs(const Schedule& schedule, bool sends_from_place);

}  // namespace rondo
