// Sizes that the tables of choices are written in.
#pragma once

#include <cstddef>

namespace rondo {

inline constexpr std::size_t KiB = 1024;
inline constexpr std::size_t MiB = 1024 * KiB;
inline constexpr std::size_t any_size = ~std::size_t{0};
/// Results that are larger, those of all ranks together, are written past the caches: they would
/// not stay there until somebody reads them. With readers behind every call it is a gain from here
/// on, without any far below.
inline constexpr std::size_t cached_results = 4 * MiB;
/// Of all_reduces by messages, whose ranks send on what they have combined: it should still be in a
/// cache then. Calls that follow each other took half the time at 4 and three quarters at 16 MiB of
/// what they took with stores past the caches; with readers behind every call it made no
/// difference.
inline constexpr std::size_t cached_sent_on = 64 * MiB;
inline constexpr int any_ranks = 1 << 30;

}  // namespace rondo
