// Patience: one wait's backoff and its sense of time, so that no wait is silent for ever.
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
    expired_since_.reset();
  }
  /// A wait begins, or goes on behind others' turns. `moves` counts what has moved: where it is as
  /// it was the last time, the silence is the same one.
  void resume(std::uint64_t moves) {
    if (std::exchange(moves_, moves) != moves) return reset();
    backoff_.reset();
  }
  Backoff& backoff() { return backoff_; }

  enum class Verdict { wait, report, expired, lost };
  /// `report` once a second of silence; `expired` when `timeout` is over and about once a second
  /// from then on; `lost` when even the control plane, which is asked then, has not answered
  /// `grace` later. `timeout` may differ from look to look.
  Verdict judge(std::chrono::milliseconds timeout, Clock::time_point now = Clock::now()) {
    if (!idle_since_) {
      idle_since_ = now;
      reported_ = now;
    }
    if (now - *idle_since_ <= timeout) {
      expired_since_.reset();
      return is_due(now) ? Verdict::report : Verdict::wait;
    }
    // A timeout may have been shortened to one that ended long ago: still nobody was asked.
    if (!expired_since_) {
      expired_since_ = now;
      reported_ = now;
      return Verdict::expired;
    }
    if (now - *expired_since_ > grace) return Verdict::lost;
    return is_due(now) ? Verdict::expired : Verdict::wait;
  }

 private:
  static constexpr std::chrono::seconds interval{1};
  static constexpr std::chrono::seconds grace{5};

  bool is_due(Clock::time_point now) {
    if (now - reported_ < interval) return false;
    reported_ = now;
    return true;
  }

  Backoff backoff_;
  std::optional<Clock::time_point> idle_since_{};
  std::optional<Clock::time_point> expired_since_{};  ///< the first `expired`
  Clock::time_point reported_{};                      ///< the newest verdict but `wait`
  std::uint64_t moves_ = 0;                           ///< at the last resume()
};

}  // namespace rondo::detail
