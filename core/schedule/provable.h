// Whether proving a user's schedule takes about a second and 100 MB at most. A job would seem to hang
// in its first call otherwise.
#pragma once

#include <string_view>

#include "core/schedule/schedule.h"

namespace rondo {

/// Throws Error{invalid_argument} where the steps or chunks of all ranks are too many, and what the
/// schedule's steps throw. `source`: where it is from.
void check_provable(const Schedule& schedule, std::string_view source);

}  // namespace rondo
