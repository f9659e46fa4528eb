// Random numbers that are the same on every machine and standard library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace rondo::train {

/// A well-mixed function of two numbers (splitmix64's).
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t value = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

/// A digest: different bytes give, in all likelihood, different numbers.
inline std::uint64_t fingerprint(std::span<const std::byte> bytes) {
  std::uint64_t print = bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    print = mix(print, word);
  }
  return print;
}

inline std::uint64_t fingerprint(std::string_view text) {
  return fingerprint(std::as_bytes(std::span(text)));
}

/// A sequence named by its seed. Its whole state is one number.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return mix(0, state_ += 0x9e3779b97f4a7c15ULL); }
  /// At least 0, below 1.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Below `bound`, which is above 0.
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(bound));
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  /// Fisher and Yates.
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t end = values.size(); end > 1; --end) {
      std::swap(values[end - 1], values[below(end)]);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace rondo::train
