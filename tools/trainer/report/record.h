// The data of a run, for its reports.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/traffic.h"

namespace rondo::train {

/// What a rank does at a moment.
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

/// Measures where a step's time goes. Every moment belongs to one phase: the innermost one entered.
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

inline Traffic total(const Traffic& one, const Traffic& other) {
  return one - (Traffic{} - other);  // modulo 2^64
}

struct StepRecord {
  std::size_t step = 0;  ///< from 1
  double loss = 0;       ///< mean over the global batch, before the step
  double norm = 0;       ///< of the gradient, before clipping
  double rate = 0;       ///< learning rate
  double loss_scale = 1;
  bool skipped = false;  ///< fp16: gradients overflowed on some rank; nothing was changed
  std::optional<double> validation{};  ///< mean loss after the step, where it was measured
  PhaseSeconds phases{};               ///< of rank 0, in the step alone (not in validation)
  Traffic traffic{};  ///< sent by rank 0's strategy since the step before; zero1 and zero2 gather
                      ///< what a step has changed while the next begins, and count it there

  double seconds() const {
    double sum = 0;
    for (const double phase : phases) sum += phase;
    return sum;
  }
};

inline double seconds_in(std::span<const StepRecord> steps, std::size_t phase) {
  double sum = 0;
  for (const StepRecord& step : steps) sum += step.phases[phase];
  return sum;
}

/// The data that stay the same during a run.
struct RunRecord {
  int ranks = 1;
  std::string strategy{};
  std::size_t parameters = 0;
  std::size_t steps = 0;
  std::size_t targets_per_step = 0;
  double operations_per_step = 0;  ///< of all ranks
};

}  // namespace rondo::train
