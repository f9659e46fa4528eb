#include "bench/floor/trial.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rondo::bench {
namespace {

double seconds_of(const Trial& trial, int calls) {
  const auto start = std::chrono::steady_clock::now();
  trial.run(calls);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Seconds of `calls` calls, each on data that its member has just written.
double seconds_of_fresh(Member& member, const Trial& trial, int calls) {
  double seconds = 0;
  for (int call = 0; call < calls; ++call) {
    trial.refresh();
    member.meet();
    seconds += seconds_of(trial, 1);
  }
  return seconds;
}

/// One sample: seconds of a call on the slowest member.
double sample(Member& member, const Trial& trial, int calls) {
  if (trial.prepare) trial.prepare();
  member.meet();
  const double seconds =
      trial.refresh ? seconds_of_fresh(member, trial, calls) : seconds_of(trial, calls);
  if (trial.check) trial.check();
  return member.largest(seconds) / calls;
}

/// How many calls fill a sample. All members agree on it. The number grows fourfold until a sample
/// is full. The first calls connect and fault memory in, so each number is tried twice.
int calls_for(Member& member, const Trial& trial, const Effort& effort) {
  for (int calls = 1;; calls = std::min(calls * 4, effort.most_calls)) {
    const double first = sample(member, trial, calls) * calls;
    const double seconds = std::min(first, sample(member, trial, calls) * calls);
    if (calls == effort.most_calls) return calls;
    if (seconds < effort.sample_seconds / 4) continue;
    const double wanted = effort.sample_seconds / seconds * calls;
    return std::clamp(static_cast<int>(wanted), 1, effort.most_calls);
  }
}

}  // namespace

std::vector<std::vector<double>> measure(Member& member, std::span<const Trial> trials,
                                         const Effort& effort) {
  std::vector<int> calls;
  for (const Trial& trial : trials) calls.push_back(calls_for(member, trial, effort));
  std::vector<std::vector<double>> samples(trials.size());
  for (int round = 0; round < effort.rounds; ++round) {
    for (std::size_t turn = 0; turn < trials.size(); ++turn) {
      const std::size_t index = round % 2 == 0 ? turn : trials.size() - 1 - turn;
      samples[index].push_back(sample(member, trials[index], calls[index]));
    }
  }
  return samples;
}

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  // A mark that falls between two samples is interpolated, such as the median of an even number.
  const auto at = [&](std::size_t quarters) {
    const std::size_t place = (samples.size() - 1) * quarters;  // in quarters of a sample
    const std::size_t below = place / 4;
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    const double along = static_cast<double>(place % 4) / 4;
    return samples[below] + along * (samples[above] - samples[below]);
  };
  return {at(1), at(2), at(3)};
}

Spread ratio_spread(std::span<const double> samples, std::span<const double> base) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(samples.size(), base.size()); ++i) {
    ratios.push_back(samples[i] / base[i]);
  }
  return spread_of(std::move(ratios));
}

}  // namespace rondo::bench
