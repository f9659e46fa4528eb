// Races: two ranks use the same memory in a merged program, at least one of them changes it, and no
// stage lies between them. Input and output of a chunk are one memory where calls may be in place.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// Calls `complain` for
/// - every place that its owner or another rank changes, where no stage lies between the change and
///   the reading;
/// - every place that no op of an earlier stage has made, or that is not shown;
/// - every use of a rank's memory that the rank does not know, and would not wait for.
/// Passes move different elements and share no memory, so they need no order. The sentences name both
/// steps. The programs' ops are sound (see defect() in op.h).
void find_races(const Schedule& header, std::span<const Program> programs,
                const std::function<void(const std::string&)>& complain);

}  // namespace rondo
