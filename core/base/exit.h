// What the library does when the process ends in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

namespace rondo {

/// Runs `handler` when this process ends by exit() or main's return: not in a child that it forks,
/// nor at a signal or _exit(). `in_order`: of status 0; another one is a failure, that its peers
/// had better hear of at once. Those registered later run earlier. What it throws is lost. Any
/// thread.
void at_process_exit(void (*handler)(bool in_order));

/// Runs body(0) to body(count - 1), each on a thread of its own, and returns when all have ended or
/// so much time has passed in which this process ran: then they go on, for as long as the process
/// lives. What they throw is lost. Throws what starting threads throws.
void run_for(std::chrono::milliseconds longest, std::size_t count,
             std::function<void(std::size_t)> body);

}  // namespace rondo
