// Backoff: how a waiting rank spends its time. It spins while an answer is likely within a hop's
// latency, then yields the core, then asks the caller to sleep.
//
// How long to spin is learnt. A rank may share its core with the rank that it waits for, whatever
// the counts say. Then the answer comes only when it gives way. Where ranks are oversubscribed, or
// each look enters the kernel, it gives way at once.
#pragma once

#include <chrono>
#include <cstdint>

namespace rondo::detail {

class Backoff {
 public:
  /// `oversubscribed`: this machine is oversubscribed, so spinning keeps another rank from answering.
  /// `system_calls`: each look is one. Then giving way costs little beside it, and the sender needs
  /// the core for microseconds.
  explicit Backoff(bool oversubscribed, bool system_calls = false);

  /// The wait is over: what it waited for has come.
  void reset() {
    if (idle_ > 0) learn();
    idle_ = 0;
  }
  /// Spins or yields once. True when it is time to sleep instead.
  bool pause();
  /// How often to look at once for an answer that is a hop away, before pause().
  std::uint32_t looks_at_once() const { return longest_spin_.count() > 0 ? 4 * looks_ : looks_; }
  /// True every so often: time to look at what is costly to look at. Counted over all waits too,
  /// since where every answer comes soon no single one is long enough.
  bool look_around() { return ++asked_ % 256 == 0 || idle_ % 32 == 31; }

 private:
  enum class Stage : std::uint8_t { spin, yield, sleep };
  using Clock = std::chrono::steady_clock;

  /// Asks the clock what to do; seldom enough to cost nothing.
  Stage assess();
  void learn();

  std::uint32_t looks_;  ///< before anything else
  std::chrono::nanoseconds longest_spin_;
  std::chrono::nanoseconds spin_;
  Clock::time_point since_{};
  std::uint32_t idle_ = 0;
  std::uint32_t asked_ = 0;
  Stage stage_ = Stage::spin;
};

}  // namespace rondo::detail
