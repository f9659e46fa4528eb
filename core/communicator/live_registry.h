// The registry of this process's live communicators, for its end: those that were not finalized
// leave in order all the same. Private to core/communicator.
#pragma once

#include <memory>

#include "core/communicator/state.h"

namespace rondo::detail {

/// Makes a communicator that ends with the process, if not before. Ranks that met as threads tell
/// each other nothing then. If the process fails, its peers take it for dead, unless the program's
/// own static objects end its communicators then.
std::shared_ptr<CommunicatorState> make_state(Membership membership, const Config& config);

}  // namespace rondo::detail
