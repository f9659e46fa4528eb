// Patience: one wait's backoff and its sense of time, so that no wait is silent for ever.
#pragma once

#include <chrono>
#include <optional>

#include "core/execute/backoff.h"

namespace rondo::detail {

class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  /// See Backoff.
  Patience(bool crowded, bool system_calls, std::chrono::milliseconds timeout)
      : backoff_(crowded, system_calls), timeout_(timeout) {}

  /// Something moved.
  void reset() {
    backoff_.reset();
    idle_since_.reset();
    said_expired_ = false;
  }
  Backoff& backoff() { return backoff_; }

  enum class Verdict { wait, report, expired, lost };
  /// Looks at the clock. `report` once a second of silence; `expired` at the deadline and
  /// about once a second from then on; `lost` when even the control plane has not answered `grace`
  /// after the deadline.
  Verdict judge() {
    const auto now = Clock::now();
    if (!idle_since_) {
      idle_since_ = now;
      reported_ = now;
    }
    if (now - *idle_since_ > timeout_ + grace) return Verdict::lost;
    const bool expired = now - *idle_since_ > timeout_;
    if (expired && !said_expired_) {
      said_expired_ = true;
      return Verdict::expired;
    }
    if (now - reported_ < interval) return Verdict::wait;
    reported_ = now;
    return expired ? Verdict::expired : Verdict::report;
  }
  std::chrono::milliseconds timeout() const { return timeout_; }

 private:
  static constexpr std::chrono::seconds interval{1};
  static constexpr std::chrono::seconds grace{5};

  Backoff backoff_;
  std::chrono::milliseconds timeout_;
  std::optional<Clock::time_point> idle_since_{};
  Clock::time_point reported_{};
  bool said_expired_ = false;
};

}  // namespace rondo::detail
