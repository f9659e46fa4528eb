// What the library does when the process ends by exit() or by returning from main.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

namespace rondo {

/// Runs `handler` when this process ends by exit() or main's return. Not in a child that it forks,
/// nor at a signal or _exit(). `in_order`: the status is 0. Another status is a failure, which its
/// peers should hear of at once. Handlers that were registered later run earlier. Exceptions are
/// lost. Any thread.
void at_process_exit(void (*handler)(bool in_order));

/// Runs body(0) to body(count - 1), each on a thread of its own. Returns when all have ended, or
/// when this process has run for `longest`: then they go on, for as long as the process lives.
/// Exceptions of the bodies are lost. Throws what starting threads throws.
void run_for(std::chrono::milliseconds longest, std::size_t count,
             std::function<void(std::size_t)> body);

}  // namespace rondo
