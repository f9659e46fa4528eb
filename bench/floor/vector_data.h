// Vectors to add up: whole numbers, so that every order gives the same floats.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace rondo::bench {

inline float vector_element(std::size_t index, std::size_t salt, int rank) {
  return static_cast<float>((index * 7 + salt) % 1021 + static_cast<std::size_t>(rank) + 1);
}

inline void fill_vector(float* vector, std::size_t count, std::size_t salt, int rank) {
  for (std::size_t index = 0; index < count; ++index) {
    vector[index] = vector_element(index, salt, rank);
  }
}

/// A vector of this size or more is written anew before each call, since its way between the caches
/// is much of the time. For a smaller one reading the clock would be much of the time.
inline constexpr std::size_t least_refreshed = std::size_t{8} << 10;

/// Throws std::runtime_error where an element is not the sum over `ranks` ranks.
inline void check_sum(const float* vector, std::size_t count, std::size_t salt, int ranks,
                      const std::string& what) {
  const float of_ranks = static_cast<float>(ranks * (ranks - 1) / 2);
  for (std::size_t index = 0; index < count; ++index) {
    const float expected = vector_element(index, salt, 0) * static_cast<float>(ranks) + of_ranks;
    if (vector[index] == expected) continue;
    throw std::runtime_error(what + ": element " + std::to_string(index) + " is " +
                             std::to_string(vector[index]) + " instead of " +
                             std::to_string(expected));
  }
}

}  // namespace rondo::bench
