// The scalar specification of a reduction, one element at a time, for tests of the kernels.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/convert.h"
#include "rondo/types.h"

namespace rondo::testing {

/// How a type is stored, what it is worked on as, and the way between.
template <class Stored, class Worked, Worked (*widen)(Stored), Stored (*narrow)(Worked)>
struct Element {
  using Storage = Stored;
  using Work = Worked;
  static Work load(const std::byte* at) {
    Stored value;
    std::memcpy(&value, at, sizeof(value));
    return widen(value);
  }
  static void store(std::byte* at, Work work) {
    const Stored value = narrow(work);
    std::memcpy(at, &value, sizeof(value));
  }
};

/// A conversion of the language: exact where it widens, else to nearest even.
template <class To, class From>
To converted(From value) {
  return static_cast<To>(value);
}
template <class T>
T same(T value) {
  return value;
}
template <class T>
using PlainElement = Element<T, T, same<T>, same<T>>;
using Float16Element = Element<std::uint16_t, float, float16_to_float, float_to_float16>;
using Bfloat16Element = Element<std::uint16_t, float, bfloat16_to_float, float_to_bfloat16>;
using E4m3Element = Element<std::uint8_t, float, float8_e4m3_to_float, float_to_float8_e4m3>;
using E5m2Element = Element<std::uint8_t, float, float8_e5m2_to_float, float_to_float8_e5m2>;
using Float32InDoubleElement =
    Element<float, double, converted<double, float>, converted<float, double>>;

/// Calls visit with the Element of a type.
template <class Visitor>
auto with_element(DataType type, Visitor&& visit) {
  switch (type) {
    case DataType::int8:
      return visit(PlainElement<std::int8_t>{});
    case DataType::uint8:
      return visit(PlainElement<std::uint8_t>{});
    case DataType::int16:
      return visit(PlainElement<std::int16_t>{});
    case DataType::uint16:
      return visit(PlainElement<std::uint16_t>{});
    case DataType::int32:
      return visit(PlainElement<std::int32_t>{});
    case DataType::uint32:
      return visit(PlainElement<std::uint32_t>{});
    case DataType::int64:
      return visit(PlainElement<std::int64_t>{});
    case DataType::uint64:
      return visit(PlainElement<std::uint64_t>{});
    case DataType::float16:
      return visit(Float16Element{});
    case DataType::bfloat16:
      return visit(Bfloat16Element{});
    case DataType::float32:
      return visit(PlainElement<float>{});
    case DataType::float64:
      return visit(PlainElement<double>{});
    case DataType::float8_e4m3:
      return visit(E4m3Element{});
    case DataType::float8_e5m2:
      break;
  }
  return visit(E5m2Element{});
}

/// The same for a type that is worked on in another one, its wide_type().
template <class Visitor>
auto with_element(DataType type, DataType worked, Visitor&& visit) {
  if (type == DataType::float32 && worked == DataType::float64)
    return visit(Float32InDoubleElement{});
  return with_element(type, visit);
}

template <class T>
T combine(ReduceOperator op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == ReduceOperator::prod) return a * b;
    if (op == ReduceOperator::min) return a < b || std::isnan(a) ? a : b;
    if (op == ReduceOperator::max) return b < a || std::isnan(a) ? a : b;
    return a + b;
  } else {
    if (op == ReduceOperator::min) return a < b ? a : b;
    if (op == ReduceOperator::max) return b < a ? a : b;
    if (op == ReduceOperator::bit_and) return static_cast<T>(a & b);
    if (op == ReduceOperator::bit_or) return static_cast<T>(a | b);
    if (op == ReduceOperator::bit_xor) return static_cast<T>(a ^ b);
    const auto wide_a = static_cast<std::uint64_t>(a);
    const auto wide_b = static_cast<std::uint64_t>(b);
    return static_cast<T>(op == ReduceOperator::prod ? wide_a * wide_b : wide_a + wide_b);
  }
}

/// Equal bits, or both are NaN: which NaN comes out of two is the machine's choice.
template <class E>
bool same_element(const std::byte* a, const std::byte* b) {
  if constexpr (std::is_floating_point_v<typename E::Work>) {
    if (std::isnan(E::load(a)) && std::isnan(E::load(b))) return true;
  }
  return std::memcmp(a, b, sizeof(typename E::Storage)) == 0;
}

}  // namespace rondo::testing
