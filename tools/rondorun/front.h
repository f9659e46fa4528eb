// The process that the user sees, kept apart from the one that does the work.
#pragma once

#include <functional>

#include "core/base/unique_fd.h"
#include "tools/rondorun/signals.h"

namespace rondo::launch {

/// Runs `work` in a child process and returns its exit status.
///
///   user -- front -- supervisor (work) -- ranks
///
/// Each watches the other, so that no rank survives if either gets SIGKILL:
/// - The child has the reading end of a pipe that closes when the front ends.
/// - The front adopts and kills all processes that the child leaves.
/// Both are subreapers, so no process that a rank starts can escape to init. Signals that reach the
/// front, from a terminal or by kill, are passed to the child only.
int run_guarded(const BlockedSignals& signals,
                const std::function<int(const UniqueFd& lifeline)>& work);

}  // namespace rondo::launch
