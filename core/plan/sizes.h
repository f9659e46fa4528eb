// Sizes that the tables of choices are written in.
#pragma once

#include <cstddef>

namespace rondo {

inline constexpr std::size_t KiB = 1024;
inline constexpr std::size_t MiB = 1024 * KiB;
inline constexpr std::size_t any_size = ~std::size_t{0};
/// Larger results (of all ranks together) are written past the caches: they would not stay there
/// until they are read. If each call is followed by reads, that is faster from here on. Without
/// reads it is faster far below.
inline constexpr std::size_t cached_results = 4 * MiB;
/// The same for all_reduces by messages. Their ranks send on what they have combined, which should
/// still be in a cache then. So the bound is higher. Calls in a row gain by that; calls that are
/// followed by reads do not change.
inline constexpr std::size_t cached_sent_on = 64 * MiB;
inline constexpr int any_ranks = 1 << 30;

/// Bytes that processors move together.
inline constexpr std::size_t cache_line = 64;

}  // namespace rondo
