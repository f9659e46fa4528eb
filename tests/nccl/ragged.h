// Blocks that differ in size: counts by pattern, what each rank has, and the expected result.
#pragma once

#include <numeric>

#include "tests/nccl/extensions.h"

namespace rondo::test {

using Counts = std::vector<std::size_t>;
using Numbers = std::vector<int>;

/// Counts by rank: all equal (pattern 0), a ramp from zero on (1), or all on one rank (2).
inline Counts counts_of(int pattern, int ranks) {
  Counts counts(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    counts[rank] = pattern == 0 ? 5 : pattern == 1 ? 300 * rank : 0;
  }
  if (pattern == 2) counts.back() = 20'000;
  return counts;
}

inline std::size_t total(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

inline std::size_t first_of(const Counts& counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0});
}

/// What rank `rank` has of the blocks of all: differs by rank and place.
inline Numbers numbers(const Counts& counts, int rank) {
  Numbers all(total(counts));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i) * 8 + rank;
  return all;
}

inline Numbers block(const Numbers& all, const Counts& counts, int rank) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first_of(counts, rank));
  const auto size = static_cast<std::ptrdiff_t>(counts[static_cast<std::size_t>(rank)]);
  return {begin, begin + size};
}

/// Every rank's own block, one after the other.
inline Numbers gathered(const Counts& counts) {
  Numbers all;
  for (int rank = 0; rank < static_cast<int>(counts.size()); ++rank) {
    const Numbers one = block(numbers(counts, rank), counts, rank);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

inline Numbers summed(const Counts& counts) {
  const int ranks = static_cast<int>(counts.size());
  Numbers all = numbers(counts, 0);
  for (int& number : all) number = number * ranks + ranks * (ranks - 1) / 2;
  return all;
}

/// How many elements rank `from` sends to rank `to`: not the same both ways, and none to some.
inline std::size_t sent(int from, int to) {
  return static_cast<std::size_t>(from * 7 + to * 3) % 5 * 100;
}

/// Displacements of blocks in the opposite order, with some elements between them.
inline Counts displacements(const Counts& counts) {
  Counts places(counts.size());
  std::size_t at = 0;
  for (std::size_t i = counts.size(); i-- > 0;) {
    places[i] = at;
    at += counts[i] + 3;
  }
  return places;
}

}  // namespace rondo::test
