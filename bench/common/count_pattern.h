// How a call's elements are dealt out to blocks that differ in size: patterns with names.
//
//   even        every block has the mean
//   linear      blocks grow with the rank, along a line from nothing to twice the mean: block r of
//   P
//               has (2r + 1) / P of the mean
//   one         the last rank's block has everything
//   random:S    block r has a share drawn for (S, r); random alone is random:1
//
// Blocks always add up to what is dealt out. No dependence on rondo: its peers are measured with
// the same blocks.
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

/// Nothing where `text` names none.
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

/// As parse_count_pattern() reads it.
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

/// What a block gets, relative to the others: below 2^16, so that sums of them never overflow.
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

/// Elements of each block; together `elements`.
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

/// What `rank` sends to each rank in an exchange of everyone with everyone: the list turned by its
/// rank, so that each sends as much as it receives. counts[d] go to the rank d places further.
inline std::vector<std::size_t> counts_to(const std::vector<std::size_t>& counts,
                                          std::size_t rank) {
  std::vector<std::size_t> turned(counts.size());
  for (std::size_t distance = 0; distance < counts.size(); ++distance)
    turned[(rank + distance) % counts.size()] = counts[distance];
  return turned;
}

/// What `rank` receives from each rank in it.
inline std::vector<std::size_t> counts_from(const std::vector<std::size_t>& counts,
                                            std::size_t rank) {
  std::vector<std::size_t> turned(counts.size());
  for (std::size_t distance = 0; distance < counts.size(); ++distance)
    turned[(rank + counts.size() - distance) % counts.size()] = counts[distance];
  return turned;
}

/// Where a block begins among those of a list that lie one behind the other.
inline std::size_t begin_of(const std::vector<std::size_t>& counts, std::size_t block) {
  std::size_t begin = 0;
  for (std::size_t before = 0; before < block; ++before) begin += counts[before];
  return begin;
}

}  // namespace rondo::bench
