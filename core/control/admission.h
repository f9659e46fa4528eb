// Whether a process can be the rank that it says it is.
#pragma once

#include <optional>
#include <string>

#include "core/control/message.h"

namespace rondo::control {

/// "rank 3 (host x, pid 77)".
std::string describe(const Hello& hello);

/// Why it cannot. It alone hears of it: the others may be right. `ranks`: of the world; 0: not known
/// yet. `holder`: who has come as that rank; null: nobody.
std::optional<Refused> objection_to(const Hello& hello, int ranks, const HostInfo* holder);

}  // namespace rondo::control
