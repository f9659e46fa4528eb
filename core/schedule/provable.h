// Whether proving a user's schedule takes about a second and 100 MB at most. A job would seem to hang
// in its first call otherwise.
#pragma once

#include <string>

#include "core/schedule/schedule.h"

namespace rondo {

/// "has more than 16384 steps on rank 0 with 4 ranks, which would take too long to prove"; empty: it would
/// not. Steps that are wrong are the business of verify().
std::string too_long_to_prove(const Schedule& schedule);

}  // namespace rondo
