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
/// Each watches the other, so that no rank survives the SIGKILL of either: the child gets the
/// reading end of a pipe that ends with the front; the front adopts and kills whatever the child
/// leaves behind. Both are subreapers, so nothing that ranks start can slip away to init. Signals
/// that reach the front, from a terminal or by kill, are passed to the child alone.
int run_guarded(const BlockedSignals& signals,
                const std::function<int(const UniqueFd& lifeline)>& work);

}  // namespace rondo::launch
