// The remote end of a RemoteNode: runs one node's ranks for a rondorun elsewhere.
#pragma once

#include "core/base/unique_fd.h"
#include "tools/rondorun/signals.h"

namespace rondo::launch {

/// Takes messages from standard input and answers on standard output until standard input ends,
/// `lifeline` ends, or the job does. Returns rondorun's exit status with no process left.
int serve(const BlockedSignals& signals, const UniqueFd& lifeline);

}  // namespace rondo::launch
