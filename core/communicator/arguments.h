// Checks of a call's arguments before anything is sent. Private to core/communicator.
#pragma once

#include "core/control/call.h"

namespace rondo::detail {

/// Throws Error{invalid_argument} that says which argument is wrong and how.
void check_kinds(const Call& call, int rank, int ranks);
void check_call(const Call& call, const void* input, const void* output, int rank, int ranks);
void check_message(const Call& call, const void* buffer, int peer, int rank, int ranks);

}  // namespace rondo::detail
