// Parts: where the parts of a block begin. Host and device code take it from here.
#pragma once

#include <cstdint>

namespace rondo {

/// A block cut as evenly as whole units allow. Value type.
struct Parts {
  std::uint64_t unit = 1;   ///< parts begin at multiples of this many elements
  std::uint64_t whole = 0;  ///< units that every part has
  std::uint32_t rest = 0;   ///< units that are left; they are spread over the parts
  std::uint32_t parts = 1;

  /// `size`: elements of the block. `line`: elements of a cache line. Parts are whole lines once
  /// there are enough of them, and single elements before.
  static constexpr Parts of(std::uint64_t size, std::uint32_t parts, std::uint64_t line) {
    const std::uint64_t unit = size >= 8 * parts * line ? line : 1;
    const std::uint64_t units = size / unit;
    return {unit, units / parts, static_cast<std::uint32_t>(units % parts), parts};
  }
  /// First element of part `part`, which is less than `parts`.
  constexpr std::uint64_t begin(std::uint32_t part) const {
    return unit * (whole * part + std::uint64_t{rest} * part / parts);
  }
};
static_assert(sizeof(Parts) == 24);

}  // namespace rondo
