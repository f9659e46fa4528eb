// The communicators of this process, for its end: whoever does not finalize them before leaves in
// order all the same. Private to core/communicator.
#pragma once

#include <memory>

#include "core/communicator/state.h"

namespace rondo::detail {

/// Makes a communicator that ends with the process, if not before. Ranks that met as threads tell
/// each other nothing then; of a process that fails the peers hear as of one that dies, unless
/// the program's own static objects end its communicators then.
std::shared_ptr<CommunicatorState> make_state(Membership membership, const Config& config);

}  // namespace rondo::detail
