// What a build under a sanitizer leaves out of cross-products.
//
// ThreadSanitizer makes every byte that moves cost many times as much. It looks for races, which
// depend on threads, steps and slices, but not on types, operators or the sizes of the same number
// of slices. So cells that differ in these alone are left to the other builds. One of those runs
// under AddressSanitizer.
//
// Neither sanitizer sees more of the executor with 1, 2, 3 or 7 ranks than with 4 and 5, or of large
// calls than of those with two slices. The build without a sanitizer has all cells.
#pragma once

#include <vector>

#include "rondo/types.h"

namespace rondo::test {

#ifdef __SANITIZE_THREAD__
inline constexpr bool looks_for_races = true;
#else
inline constexpr bool looks_for_races = false;
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

/// Whether this build has the cell: under ThreadSanitizer every type with sum, and every operator
/// with two types.
constexpr bool takes(DataType type, ReduceOperator op) {
  return !looks_for_races || op == ReduceOperator::sum || type == DataType::float32 ||
         type == DataType::int32;
}

/// The cells of this build, of all that there are.
template <class T>
std::vector<T> cells(std::vector<T> all, std::vector<T> under_sanitizers) {
  return is_sanitized ? under_sanitizers : all;
}

}  // namespace rondo::test
