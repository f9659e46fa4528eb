// Patience: one wait's backoff and its sense of time, so that every long wait is reported and ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/execute/backoff.h"

namespace rondo::detail {

class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  /// See Backoff.
  Patience(bool crowded, bool system_calls) : backoff_(crowded, system_calls) {}

  /// Something moved.
  void reset() {
    backoff_.reset();
    idle_since_.reset();
    asked_ = 0;
  }
  /// A wait begins, or goes on after other threads held the progress lock. `moves` counts what has
  /// moved: if it is unchanged since the last time, the silence is the same one.
  void resume(std::uint64_t moves) {
    if (std::exchange(moves_, moves) != moves) return reset();
    backoff_.reset();
  }
  Backoff& backoff() { return backoff_; }

  enum class Verdict { wait, report, expired, lost };
  /// - `report`: once per second of silence.
  /// - `expired`: when `timeout` is over, and about once a second from then on.
  /// - `lost`: when the control plane, which is asked each time, has left `most_asked` questions
  ///   without an answer. They are counted, not timed: a process that stood still after its first
  ///   question has given no one time to answer.
  /// `timeout` may differ from look to look.
  Verdict judge(std::chrono::milliseconds timeout, Clock::time_point now = Clock::now()) {
    if (!idle_since_) {
      idle_since_ = now;
      reported_ = now;
    }
    if (now - *idle_since_ <= timeout) {
      asked_ = 0;
      return is_due(now) ? Verdict::report : Verdict::wait;
    }
    // A timeout may have been shortened to one that ended long ago. Even then nobody was asked yet.
    if (asked_ == 0) reported_ = now - interval;
    if (!is_due(now)) return Verdict::wait;
    return asked_++ < most_asked ? Verdict::expired : Verdict::lost;
  }

 private:
  static constexpr std::chrono::seconds interval{1};
  static constexpr int most_asked = 5;

  bool is_due(Clock::time_point now) {
    if (now - reported_ < interval) return false;
    reported_ = now;
    return true;
  }

  Backoff backoff_;
  std::optional<Clock::time_point> idle_since_{};
  int asked_ = 0;                 ///< how often `expired` was said
  Clock::time_point reported_{};  ///< the newest verdict but `wait`
  std::uint64_t moves_ = 0;       ///< at the last resume()
};

}  // namespace rondo::detail
