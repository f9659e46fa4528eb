// Measures where a step's time goes. Every moment belongs to one phase: the innermost one entered.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace rondo::train {

enum class Phase : std::uint8_t {
  other,
  data,
  forward,
  backward,
  communication,  ///< exposed: the rank's thread waits for it
  optimizer,
};

inline constexpr std::array<std::string_view, 6> phase_names{
    "other", "data", "forward", "backward", "communication", "optimizer"};

using PhaseSeconds = std::array<double, phase_names.size()>;

/// Belongs to one rank; one thread at a time.
class Stopwatch {
 public:
  /// Returns to the phase before at its end.
  class Scope {
   public:
    Scope(Stopwatch& watch, Phase phase) : watch_(watch), before_(watch.change(phase)) {}
    ~Scope() { watch_.change(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Stopwatch& watch_;
    Phase before_;
  };

  Scope in(Phase phase) { return {*this, phase}; }

  /// Seconds in each phase since the last call of this function. The running phase counts until
  /// now.
  PhaseSeconds take() {
    change(phase_);
    return std::exchange(seconds_, {});
  }

 private:
  using Clock = std::chrono::steady_clock;

  Phase change(Phase phase) {
    const auto now = Clock::now();
    seconds_[static_cast<std::size_t>(phase_)] +=
        std::chrono::duration<double>(now - std::exchange(since_, now)).count();
    return std::exchange(phase_, phase);
  }

  Clock::time_point since_ = Clock::now();
  Phase phase_ = Phase::other;
  PhaseSeconds seconds_{};
};

}  // namespace rondo::train
