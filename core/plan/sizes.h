// Sizes that the tables of choices are written in.
#pragma once

#include <cstddef>

namespace rondo {

inline constexpr std::size_t KiB = 1024;
inline constexpr std::size_t MiB = 1024 * KiB;
inline constexpr std::size_t any_size = ~std::size_t{0};
inline constexpr std::size_t never = ~std::size_t{0};
inline constexpr int any_ranks = 1 << 30;

}  // namespace rondo
