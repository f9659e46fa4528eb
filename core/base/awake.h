// Time that runs only while this process does.
//
// A virtual machine can be paused, a process group stopped. By the kernel's clock every deadline of
// its peers has passed when it wakes, although no peer had time to answer. A look at that moment
// would blame a peer that is well. So a limit on how long a peer may take to answer is counted in
// steps. The time that passes within one step counts as that step, however long it was. Timeouts
// that the user set stay what they say.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace rondo {

/// Half of the shortest limit counted so, that one step never is all of it.
inline constexpr std::chrono::milliseconds awake_step{50};

/// Look at least once an awake_step where time matters. Not thread-safe.
class AwakeClock {
 public:
  using Clock = std::chrono::steady_clock;

  explicit AwakeClock(Clock::time_point begin = Clock::now()) : last_(begin), now_(begin) {}

  Clock::time_point now(Clock::time_point real = Clock::now()) {
    now_ += std::min<Clock::duration>(real - std::exchange(last_, real), awake_step);
    return now_;
  }

 private:
  Clock::time_point last_;
  Clock::time_point now_;
};

/// Like changed.wait_for(lock, longest, is_so).
template <class Predicate>
bool wait_awake(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                std::chrono::milliseconds longest, Predicate is_so) {
  for (; longest > awake_step; longest -= awake_step)
    if (changed.wait_for(lock, awake_step, is_so)) return true;
  return changed.wait_for(lock, longest, is_so);
}

}  // namespace rondo
