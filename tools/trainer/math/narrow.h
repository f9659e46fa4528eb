// float32 rounded to bfloat16 and float16, to nearest even, and back, as the library does it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/cpu/convert.h"
#include "rondo/types.h"

namespace rondo::train {

enum class Precision : std::uint8_t { float32, bf16, fp16 };

struct PrecisionInfo {
  Precision precision;
  std::string_view name;
  DataType wire;      ///< the collectives' type
  std::size_t bytes;  ///< of an element in this type
};

inline constexpr std::array precisions{
    PrecisionInfo{Precision::float32, "float32", DataType::float32, 4},
    PrecisionInfo{Precision::bf16, "bf16", DataType::bfloat16, 2},
    PrecisionInfo{Precision::fp16, "fp16", DataType::float16, 2},
};

constexpr const PrecisionInfo& info(Precision precision) {
  return precisions[static_cast<std::size_t>(precision)];
}

/// One value. `precision` is bf16 or fp16. Overflow becomes infinity; NaN stays NaN.
inline std::uint16_t narrow(float value, Precision precision) {
  return precision == Precision::bf16 ? float_to_bfloat16(value) : float_to_float16(value);
}
inline float widen(std::uint16_t bits, Precision precision) {
  return precision == Precision::bf16 ? bfloat16_to_float(bits) : float16_to_float(bits);
}

/// Whole ranges of equal length.
inline void narrow(std::span<const float> from, std::span<std::uint16_t> into,
                   Precision precision) {
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = narrow(from[i], precision);
}
inline void widen(std::span<const std::uint16_t> from, std::span<float> into, Precision precision) {
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = widen(from[i], precision);
}
/// Rounds in place; float32 leaves everything as it is.
inline void round_to(std::span<float> values, Precision precision) {
  if (precision == Precision::float32) return;
  for (float& value : values) value = widen(narrow(value, precision), precision);
}

}  // namespace rondo::train
