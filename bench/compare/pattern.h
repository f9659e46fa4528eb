// The data: whole numbers small enough that every order of adding them gives the same floats.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rondo::compare {

constexpr std::size_t pattern_period = 1021;  // a prime, so that blocks of powers of two differ

/// Calls visit(index, ramp) for every element of `count`; ramp runs from `salt` through the period.
template <class Visit>
void for_ramp(std::size_t count, std::size_t salt, Visit visit) {
  std::size_t phase = salt % pattern_period;
  for (std::size_t index = 0; index < count; phase = 0) {
    const std::size_t run = std::min(pattern_period - phase, count - index);
    for (std::size_t step = 0; step < run; ++step) {
      visit(index + step, static_cast<float>(static_cast<int>(phase + step)));
    }
    index += run;
  }
}

/// What `rank` contributes under `salt`.
inline void fill(float* floats, std::size_t count, std::size_t salt, int rank) {
  const auto shift = static_cast<float>(rank + 1);
  for_ramp(count, salt, [=](std::size_t index, float ramp) { floats[index] = ramp + shift; });
}

/// Elements of `floats` that are not what one rank contributed from its element `first` on.
inline std::size_t wrong_copies(const float* floats, std::size_t count, std::size_t first,
                                std::size_t salt, int rank) {
  const auto shift = static_cast<float>(rank + 1);
  std::size_t wrong = 0;
  for_ramp(count, salt + first,
           [&](std::size_t index, float ramp) { wrong += floats[index] != ramp + shift; });
  return wrong;
}

/// The same for the sum of all ranks' contributions.
inline std::size_t wrong_sums(const float* floats, std::size_t count, std::size_t first,
                              std::size_t salt, int ranks) {
  const auto factor = static_cast<float>(ranks);
  const auto shift = static_cast<float>(ranks * (ranks + 1) / 2);
  std::size_t wrong = 0;
  for_ramp(count, salt + first,
           [&](std::size_t index, float ramp) { wrong += floats[index] != factor * ramp + shift; });
  return wrong;
}

}  // namespace rondo::compare
