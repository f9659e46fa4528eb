// Trials: things to time. They take turns, so that those compared are measured in the same minutes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/floor/team.h"

namespace rondo::bench {

/// Something that every member of a team does at the same time.
struct Trial {
  std::string name{};
  /// Does the thing `calls` times, back to back. A member without a part returns at once.
  std::function<void(int calls)> run{};
  /// Called before each sample, untimed. May be empty.
  std::function<void()> prepare{};
  /// Called before each call, untimed; then all members meet. It is for calls whose time depends on
  /// whose cache the data is in. Calls must be long, since each is timed alone. May be empty.
  std::function<void()> refresh{};
  /// Called after each sample, untimed. Throws where the result is wrong. May be empty.
  std::function<void()> check{};
};

/// A trial that makes one call after another.
template <class Call>
Trial repeated(std::string name, Call call) {
  return {.name = std::move(name), .run = [call = std::move(call)](int calls) {
            for (int i = 0; i < calls; ++i) call();
          }};
}

/// How long to measure.
struct Effort {
  int rounds = 15;               ///< samples of each trial
  double sample_seconds = 2e-3;  /// a sample takes about so long, or longer
  int most_calls = 20000;        ///< in one sample
};

/// Seconds of one call on the slowest member: [trial][round], one sample for each. Collective; the
/// result is the same on every member. In each round the trials take turns, forwards and backwards
/// alternately. The number of calls in a sample is found beforehand, which also warms up.
std::vector<std::vector<double>> measure(Member& member, std::span<const Trial> trials,
                                         const Effort& effort);

/// The middle half of samples.
struct Spread {
  double low = 0;     ///< first quartile
  double median = 0;  ///< second
  double high = 0;    ///< third
};
/// All zero for no samples.
Spread spread_of(std::vector<double> samples);
/// The spread of samples[i] / base[i].
Spread ratio_spread(std::span<const double> samples, std::span<const double> base);

}  // namespace rondo::bench
