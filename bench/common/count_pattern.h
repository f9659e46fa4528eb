// Patterns that divide the elements of a call into blocks of different sizes.
//
//   even        every block has the mean
//   linear      blocks grow with the rank: block r of P has (2r + 1) / P of the mean
//   one         the last rank's block has everything
//   random:S    block r has a share drawn for (S, r); random alone is random:1
//
// The blocks always add up to all elements. This file does not depend on rondo, since the other
// libraries are measured with the same blocks.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::bench {

/// A pattern and, for random, its seed. Value type.
struct CountPattern {
  enum class Kind : std::uint8_t { even, linear, one, random };
  Kind kind = Kind::even;
  std::uint64_t seed = 1;
};

inline constexpr std::string_view known_count_patterns = "even, linear, one, random or random:SEED";

/// No value when `text` is not the name of a pattern.
inline std::optional<CountPattern> parse_count_pattern(std::string_view text) {
  constexpr std::string_view random = "random";
  if (text == "even") return CountPattern{};
  if (text == "linear") return CountPattern{CountPattern::Kind::linear};
  if (text == "one") return CountPattern{CountPattern::Kind::one};
  if (text == random) return CountPattern{CountPattern::Kind::random};
  if (!text.starts_with("random:")) return std::nullopt;
  CountPattern pattern{CountPattern::Kind::random};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + random.size() + 1, end, pattern.seed);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return pattern;
}

/// The name that parse_count_pattern() reads.
inline std::string to_string(const CountPattern& pattern) {
  switch (pattern.kind) {
    case CountPattern::Kind::even:
      return "even";
    case CountPattern::Kind::linear:
      return "linear";
    case CountPattern::Kind::one:
      return "one";
    case CountPattern::Kind::random:
      break;
  }
  return "random:" + std::to_string(pattern.seed);
}

/// A block's weight relative to the others. Below 2^16, so that sums of weights never overflow.
inline std::uint64_t weight_of(const CountPattern& pattern, std::size_t block, std::size_t blocks) {
  switch (pattern.kind) {
    case CountPattern::Kind::even:
      return 1;
    case CountPattern::Kind::linear:
      return 2 * block + 1;
    case CountPattern::Kind::one:
      return block + 1 == blocks ? 1 : 0;
    case CountPattern::Kind::random:
      break;
  }
  // The finishing steps of splitmix64.
  std::uint64_t mixed = pattern.seed * 0x9e3779b97f4a7c15u + (block + 1) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return 1 + (mixed ^ mixed >> 31) % 0xfffe;
}

/// The elements of each block. They add up to `elements`.
inline std::vector<std::size_t> counts_of(const CountPattern& pattern, std::size_t elements,
                                          std::size_t blocks) {
  std::uint64_t all = 0;
  for (std::size_t block = 0; block < blocks; ++block) all += weight_of(pattern, block, blocks);
  std::vector<std::size_t> counts;
  std::uint64_t weights = 0;
  std::size_t begin = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    weights += weight_of(pattern, block, blocks);
    // elements * weights / all, without a product that overflows.
    const std::size_t end = elements / all * weights + elements % all * weights / all;
    counts.push_back(end - begin);
    begin = end;
  }
  return counts;
}

/// How many elements `rank` sends to each rank in an all-to-all: counts[d] go to the rank d places
/// further. So each rank sends as much as it receives.
inline std::vector<std::size_t> counts_to(const std::vector<std::size_t>& counts,
                                          std::size_t rank) {
  std::vector<std::size_t> turned(counts.size());
  for (std::size_t distance = 0; distance < counts.size(); ++distance)
    turned[(rank + distance) % counts.size()] = counts[distance];
  return turned;
}

/// How many elements `rank` receives from each rank in that all-to-all.
inline std::vector<std::size_t> counts_from(const std::vector<std::size_t>& counts,
                                            std::size_t rank) {
  std::vector<std::size_t> turned(counts.size());
  for (std::size_t distance = 0; distance < counts.size(); ++distance)
    turned[(rank + counts.size() - distance) % counts.size()] = counts[distance];
  return turned;
}

/// Where a block begins when the blocks of a list lie one after the other.
inline std::size_t begin_of(const std::vector<std::size_t>& counts, std::size_t block) {
  std::size_t begin = 0;
  for (std::size_t before = 0; before < block; ++before) begin += counts[before];
  return begin;
}

}  // namespace rondo::bench
