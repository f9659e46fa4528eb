// Ready-made operators that NCCL's five lack: logical ones, places of extremes, products of complex numbers.
//
//   std::vector<int> flags = ...;
//   world.all_reduce(flags, rondo::logical_and<int>);
//
//   std::vector<rondo::Located<double>> errors = ...;      // {value, where}
//   world.all_reduce(errors, rondo::largest_located<double>);
//
// They are Operators (rondo/operator.h), for host memory. Sums of complex numbers need none: they are sums
// of twice as many floats. `min` and `max` of uint8 are "all" and "any" of flags,
// on devices, too.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "rondo/operator.h"

namespace rondo {

/// A value and where it was found. Values are no NaN.
template <class T>
struct Located {
  using Index = std::conditional_t<sizeof(T) <= 4, std::int32_t, std::int64_t>;
  T value;
  Index index;
  static_assert(sizeof(T) == sizeof(Index), "rondo: values have 4 or 8 bytes");

  friend bool operator==(const Located&, const Located&) = default;
};

namespace detail {

template <class T>
inline constexpr auto both =
    [](const T& a, const T& b) { return static_cast<T>(a != T{} && b != T{}); };
template <class T>
inline constexpr auto either =
    [](const T& a, const T& b) { return static_cast<T>(a != T{} || b != T{}); };
template <class T>
inline constexpr auto one_of =
    [](const T& a, const T& b) { return static_cast<T>((a != T{}) != (b != T{})); };
template <class T>
inline constexpr auto smaller = [](const Located<T>& a, const Located<T>& b) {
  return a.value < b.value || (a.value == b.value && a.index < b.index) ? a : b;
};
template <class T>
inline constexpr auto larger = [](const Located<T>& a, const Located<T>& b) {
  return a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b;
};
/// The same bits for b, a as for a, b: library functions do not promise that.
template <class T>
inline constexpr auto times = [](const std::complex<T>& a, const std::complex<T>& b) {
  return std::complex<T>(a.real() * b.real() - a.imag() * b.imag(),
                         a.real() * b.imag() + a.imag() * b.real());
};

}  // namespace detail

/// Every value but 0 is true. Results are 0 or 1; a world of one rank keeps its values.
template <class T>
inline constexpr auto logical_and = make_operator<T, detail::both<T>>("logical_and", Commutes::yes);
template <class T>
inline constexpr auto logical_or = make_operator<T, detail::either<T>>("logical_or", Commutes::yes);
template <class T>
inline constexpr auto logical_xor = make_operator<T, detail::one_of<T>>("logical_xor",
                                                                        Commutes::yes);
/// Of equal values that with the least index.
template <class T>
inline constexpr auto smallest_located =
    make_operator<Located<T>, detail::smaller<T>>("smallest_located", Commutes::yes);
template <class T>
inline constexpr auto largest_located =
    make_operator<Located<T>, detail::larger<T>>("largest_located", Commutes::yes);
template <class T>
inline constexpr auto complex_product =
    make_operator<std::complex<T>, detail::times<T>>("complex_product", Commutes::yes);

}  // namespace rondo
