// Schedules that users wrote, as executors take them.
#pragma once

#include <vector>

#include "core/plan/lower.h"
#include "core/schedule/program.h"
#include "core/schedule/schedule.h"
#include "core/schedule/verify.h"

namespace rondo {

/// The lowered programs of all ranks, verified, with channels of the schedule's depth or 2. Fused ops
/// hold a message while they wait to send. Where that makes ranks wait for each other for ever, nothing
/// is fused.
struct Lowered {
  std::vector<Program> programs{};
  Report report{};
};
Lowered lower_verified(const Schedule& schedule, Fusion fusion = Fusion::full);

/// The same as executors take them. `schedule` must be right. Throws Error{invalid_argument} where it
/// needs more than channels have.
std::vector<Program> lower_written(const Schedule& schedule, Fusion fusion = Fusion::full);

}  // namespace rondo
