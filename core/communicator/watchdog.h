// Watchdog: a communicator's timeout, and what it asks of the control plane when nothing moves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "core/base/config.h"
#include "core/communicator/silence.h"
#include "core/communicator/whole.h"
#include "core/control/control.h"
#include "core/execute/service.h"

namespace rondo::detail {

/// Only the holder of the progress lock calls assess(), act() and await_diagnosis(). `awaited`: the
/// rank that this one waits for by itself, and for nothing else; nothing: there is none.
class Watchdog {
 public:
  /// `whole`: what the communicator is a part of; null: of nothing.
  Watchdog(int rank, ControlChannel& control, const Config& config, Whole* whole);

  /// The longest silence of a peer inside a call. Any thread may call these functions.
  std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds(timeout_.load(std::memory_order_relaxed));
  }
  bool is_from_program() const { return from_program_.load(std::memory_order_relaxed); }
  /// From here on, for calls under way, too. Throws Error{invalid_argument}.
  void set_timeout(std::chrono::milliseconds timeout);
  /// Tells `control` the timeout, for the words of its errors.
  void tell(ControlChannel& control) const { control.set_timeout(timeout(), is_from_program()); }
  /// The error if nothing moved for so long and the coordinator does not answer either.
  Error unexplained_silence() const;

  /// Something is under way and does not move. `moves` counts what has moved: while it stays as it
  /// is, the silence is the same one, whichever thread looks, and whatever was begun meanwhile.
  Silence::Verdict assess(std::uint64_t moves, Silence::Clock::time_point now) {
    if (moves != moves_) silence_.reset();
    moves_ = moves;
    return silence_.assess(timeout(), now);
  }
  /// Why this communicator ends though it has not failed itself: what it is a part of has. Asks
  /// what that waits for, too. For every verdict but `wait`. Any thread.
  std::optional<Error> failure_of_whole(bool expired) const;
  /// Has the control plane find out what this rank waits for. Throws unexplained_silence(), and
  /// failure_of_whole().
  void act(Silence::Verdict verdict, const std::optional<Awaited>& awaited);
  /// Waits a few seconds for the control plane to say what a transport's complaint really means.
  void await_diagnosis(const std::optional<Awaited>& awaited);

 private:
  void ask_why(const std::optional<Awaited>& awaited, bool expired);

  const int rank_;
  ControlChannel& control_;
  Whole* const whole_;
  std::atomic<std::int64_t> timeout_;  ///< milliseconds. Relaxed: guards nothing
  std::atomic<bool> from_program_;     ///< for words. Relaxed, likewise
  Silence silence_{};
  std::uint64_t moves_ = 0;  ///< when it was judged last
};

}  // namespace rondo::detail
