// How an element is stored, the type that it is worked on in, and the conversions between them.
#pragma once

#include <type_traits>

#include "kernels/device/portable.h"
#include "rondo/types.h"

#ifdef __CUDACC__
#include "kernels/cuda/convert.cuh"
#else
#include "kernels/cpu/convert.h"
#endif

namespace rondo::device {

/// Stored as it is worked on.
template <class T>
struct PlainElement {
  using Storage = T;
  using Work = T;
  RONDO_DEVICE static T widen(T value) { return value; }
  RONDO_DEVICE static T narrow(T value) { return value; }
};

/// A small integer in a register of its own: ptxas gives 16 bits as much, and every second one. Sums
/// and products wrap when they are stored.
template <class T>
struct SmallInteger {
  using Storage = T;
  using Work = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
  RONDO_DEVICE static Work widen(T value) { return value; }
  RONDO_DEVICE static T narrow(Work value) { return static_cast<T>(value); }
};

template <DataType type>
struct Element;
template <>
struct Element<DataType::int8> : SmallInteger<std::int8_t> {};
template <>
struct Element<DataType::uint8> : SmallInteger<std::uint8_t> {};
template <>
struct Element<DataType::int16> : SmallInteger<std::int16_t> {};
template <>
struct Element<DataType::uint16> : SmallInteger<std::uint16_t> {};
template <>
struct Element<DataType::int32> : PlainElement<std::int32_t> {};
template <>
struct Element<DataType::uint32> : PlainElement<std::uint32_t> {};
template <>
struct Element<DataType::int64> : PlainElement<std::int64_t> {};
template <>
struct Element<DataType::uint64> : PlainElement<std::uint64_t> {};
template <>
struct Element<DataType::float32> : PlainElement<float> {};
template <>
struct Element<DataType::float64> : PlainElement<double> {};

/// float32 worked on in float64 and rounded to nearest even, for combinations that ask for it. It
/// is no type's own element.
struct Float32InDouble {
  using Storage = float;
  using Work = double;
  RONDO_DEVICE static double widen(Storage value) { return value; }
  RONDO_DEVICE static Storage narrow(double value) { return static_cast<float>(value); }
};

// Small floats are their codes, worked on in float32 and rounded to nearest even.
template <>
struct Element<DataType::float16> {
  using Storage = std::uint16_t;
  using Work = float;
  RONDO_DEVICE static float widen(Storage code) { return float16_to_float(code); }
  RONDO_DEVICE static Storage narrow(float value) { return float_to_float16(value); }
};
template <>
struct Element<DataType::bfloat16> {
  using Storage = std::uint16_t;
  using Work = float;
  RONDO_DEVICE static float widen(Storage code) { return bfloat16_to_float(code); }
  RONDO_DEVICE static Storage narrow(float value) { return float_to_bfloat16(value); }
};
template <>
struct Element<DataType::float8_e4m3> {
  using Storage = std::uint8_t;
  using Work = float;
  RONDO_DEVICE static float widen(Storage code) { return float8_e4m3_to_float(code); }
  RONDO_DEVICE static Storage narrow(float value) { return float_to_float8_e4m3(value); }
};
template <>
struct Element<DataType::float8_e5m2> {
  using Storage = std::uint8_t;
  using Work = float;
  RONDO_DEVICE static float widen(Storage code) { return float8_e5m2_to_float(code); }
  RONDO_DEVICE static Storage narrow(float value) { return float_to_float8_e5m2(value); }
};

template <DataType type>
struct TypeTag {
  static constexpr DataType value = type;
};

/// Calls visit with the TypeTag of `type`. There is one instantiation for each type, whatever the
/// operator. It is constexpr, so that hosts can choose kernels by it, too.
template <class Visit>
constexpr auto visit_type(DataType type, const Visit& visit) {
  switch (type) {
    case DataType::int8:
      return visit(TypeTag<DataType::int8>{});
    case DataType::uint8:
      return visit(TypeTag<DataType::uint8>{});
    case DataType::int16:
      return visit(TypeTag<DataType::int16>{});
    case DataType::uint16:
      return visit(TypeTag<DataType::uint16>{});
    case DataType::int32:
      return visit(TypeTag<DataType::int32>{});
    case DataType::uint32:
      return visit(TypeTag<DataType::uint32>{});
    case DataType::int64:
      return visit(TypeTag<DataType::int64>{});
    case DataType::uint64:
      return visit(TypeTag<DataType::uint64>{});
    case DataType::float16:
      return visit(TypeTag<DataType::float16>{});
    case DataType::bfloat16:
      return visit(TypeTag<DataType::bfloat16>{});
    case DataType::float32:
      return visit(TypeTag<DataType::float32>{});
    case DataType::float64:
      return visit(TypeTag<DataType::float64>{});
    case DataType::float8_e4m3:
      return visit(TypeTag<DataType::float8_e4m3>{});
    case DataType::float8_e5m2:
      break;
  }
  return visit(TypeTag<DataType::float8_e5m2>{});
}

}  // namespace rondo::device
