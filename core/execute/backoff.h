// Backoff: how a waiting rank spends its time. Spin while an answer is likely within a hop's
// latency, then yield the core, then ask the caller to sleep. How long to spin is learnt: a rank
// may share its core with the very rank it waits for, whatever the counts say, and then only giving
// way brings the answer. Where ranks outnumber cores, or each look enters the kernel, it gives way
// at once: a quarter less time with eight ranks on two cores, up to half over tcp.
#pragma once

#include <chrono>
#include <cstdint>

namespace rondo::detail {

class Backoff {
 public:
  /// `crowded`: ranks outnumber cores here, so spinning keeps somebody else from answering.
  /// `system_calls`: each look is one. Then giving way costs little beside it, and whoever sends
  /// needs the core for microseconds.
  explicit Backoff(bool crowded, bool system_calls = false);

  /// What was waited for has come.
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

  /// What the clock says to do; asked seldom enough to cost nothing.
  Stage judge();
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
