// Silence: how long nothing has moved, so that every long wait is reported and ends.
//
// A waiting rank looks every few milliseconds. Where more than a second lies between two looks, it
// stood still itself, perhaps with its whole machine: that counts as one second of silence.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace rondo::detail {

class Silence {
 public:
  using Clock = std::chrono::steady_clock;

  /// Something moved.
  void reset() {
    looked_.reset();
    silent_ = {};
    asked_ = 0;
  }

  enum class Verdict { wait, report, expired, lost };
  /// - `report`: once per second of silence.
  /// - `expired`: when `timeout` is over, and about once a second from then on.
  /// - `lost`: when the control plane, which is asked each time, has left `most_asked` questions
  ///   without an answer. They are counted, not timed: a process that stood still after its first
  ///   question has given no one time to answer.
  /// `timeout` may differ from look to look.
  Verdict assess(std::chrono::milliseconds timeout, Clock::time_point now = Clock::now()) {
    if (!looked_) reported_ = now;
    silent_ += std::min<Clock::duration>(now - looked_.value_or(now), interval);
    looked_ = now;
    if (silent_ <= timeout) {
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

  std::optional<Clock::time_point> looked_{};  ///< last; empty: something has moved since
  Clock::duration silent_{};
  int asked_ = 0;                 ///< how often `expired` was said
  Clock::time_point reported_{};  ///< the newest verdict but `wait`
};

}  // namespace rondo::detail
