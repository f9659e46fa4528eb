// What a build under ThreadSanitizer leaves out of cross-products.
//
// It makes every byte that moves cost many times as much. It looks for races, which depend on
// threads, steps and slices, but not on types, operators or the sizes of the same number of slices.
// So cells that differ in these alone are left to the other builds, which have all cells. One of
// those runs under AddressSanitizer.
#pragma once

#include <vector>

#include "rondo/types.h"

namespace rondo::test {

#ifdef __SANITIZE_THREAD__
inline constexpr bool looks_for_races = true;
#else
inline constexpr bool looks_for_races = false;
#endif

/// Whether this build has the cell: under ThreadSanitizer every type with sum, and every operator
/// with two types.
constexpr bool takes(DataType type, ReduceOperator op) {
  return !looks_for_races || op == ReduceOperator::sum || type == DataType::float32 ||
         type == DataType::int32;
}

/// The cells of this build.
template <class T>
std::vector<T> cells(std::vector<T> all, std::vector<T> under_thread_sanitizer) {
  return looks_for_races ? under_thread_sanitizer : all;
}

}  // namespace rondo::test
