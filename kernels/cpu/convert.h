// The 16- and 8-bit floats, one value at a time: the readable specification of the vector kernels.
//
//   float16      IEEE binary16
//   bfloat16     the upper half of a float32
//   float8_e5m2  OCP 8-bit float
//   float8_e4m3  OCP 8-bit float ("FN": no infinity, NaN is 0x7f and 0xff)
//
// Every conversion is constexpr. Widening is exact. Narrowing rounds to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace rondo {

/// A float narrower than float32: sign, exponent and mantissa from the highest bit down.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  ///< else the topmost code is NaN and overflow saturates

  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint32_t sign_code() const { return 1u << (bits() - 1); }
  /// The first code whose exponent is all ones: infinity, where there is one.
  constexpr std::uint32_t infinity_code() const {
    return ((1u << exponent_bits) - 1) << mantissa_bits;
  }
  /// The quiet NaN that narrowing gives.
  constexpr std::uint32_t nan_code() const {
    return has_infinity && bits() > 8 ? infinity_code() | 1u << (mantissa_bits - 1)
                                      : sign_code() - 1;
  }
  constexpr bool operator==(const SmallFloat&) const = default;
};

inline constexpr SmallFloat float16_format{5, 10, true};
inline constexpr SmallFloat float8_e4m3_format{4, 3, false};
inline constexpr SmallFloat float8_e5m2_format{5, 2, true};

/// The same numbers as float32 bit patterns, shared by the scalar and the vector code. Magnitudes
/// of floats compare like the integers that hold their bits.
template <SmallFloat format>
struct SmallFloatBits {
  static constexpr int dropped_bits = 23 - format.mantissa_bits;
  /// Added to a code's exponent, moved to float32's place, to change its bias.
  static constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - format.bias()) << 23;
  /// Codes from here on are not finite.
  static constexpr std::uint32_t first_special =
      format.has_infinity ? format.infinity_code() : format.sign_code() - 1;
  static constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - format.bias())
                                                   << 23;
  /// Larger magnitudes are clipped to this: twice the largest power of two, which rounds to
  /// infinity, or the largest finite value.
  static constexpr std::uint32_t clip = format.has_infinity
                                            ? static_cast<std::uint32_t>(128 + format.bias()) << 23
                                            : ((format.sign_code() - 2) << dropped_bits) + rebias;
  /// A power of two whose last mantissa bit is the format's smallest subnormal: adding it rounds a
  /// smaller magnitude to a multiple of that, to nearest even, in the low bits of the sum.
  static constexpr std::uint32_t subnormal_magic =
      static_cast<std::uint32_t>(127 + 24 - format.bias() - format.mantissa_bits) << 23;
};

template <SmallFloat format>
constexpr float widen(std::uint32_t code) {
  using Bits = SmallFloatBits<format>;
  const std::uint32_t sign = (code & format.sign_code()) << (32 - format.bits());
  const std::uint32_t magnitude_code = code & (format.sign_code() - 1);
  const std::uint32_t magnitude = magnitude_code << Bits::dropped_bits;
  std::uint32_t result = magnitude + Bits::rebias;
  if (magnitude_code >= Bits::first_special) {
    const std::uint32_t mantissa = magnitude & 0x007fffffu;
    result = format.has_infinity ? 0x7f800000u | mantissa : 0x7fc00000u;
  } else if (magnitude < 1u << 23) {  // subnormal: 1.m less 1, both at the smallest exponent
    constexpr std::uint32_t one = Bits::rebias + (1u << 23);
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + one) -
                                          std::bit_cast<float>(one));
  }
  return std::bit_cast<float>(sign | result);
}

template <SmallFloat format>
constexpr std::uint32_t narrow(float value) {
  using Bits = SmallFloatBits<format>;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & 0x80000000u) >> (32 - format.bits());
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | format.nan_code();
  if (magnitude > Bits::clip) magnitude = Bits::clip;
  if (magnitude < Bits::smallest_normal) {
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(Bits::subnormal_magic);
    return sign | (std::bit_cast<std::uint32_t>(sum) - Bits::subnormal_magic);
  }
  const std::uint32_t odd = (magnitude >> Bits::dropped_bits) & 1;
  const std::uint32_t below_half = (1u << (Bits::dropped_bits - 1)) - 1;
  return sign | ((magnitude - Bits::rebias + below_half + odd) >> Bits::dropped_bits);
}

constexpr float float16_to_float(std::uint16_t code) { return widen<float16_format>(code); }
constexpr std::uint16_t float_to_float16(float value) {
  return static_cast<std::uint16_t>(narrow<float16_format>(value));
}

constexpr float bfloat16_to_float(std::uint16_t code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
}
constexpr std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t rounded = nan ? bits | 0x00400000u : bits + 0x7fffu + ((bits >> 16) & 1);
  return static_cast<std::uint16_t>(rounded >> 16);
}

constexpr float float8_e4m3_to_float(std::uint8_t code) { return widen<float8_e4m3_format>(code); }
constexpr std::uint8_t float_to_float8_e4m3(float value) {
  return static_cast<std::uint8_t>(narrow<float8_e4m3_format>(value));
}

constexpr float float8_e5m2_to_float(std::uint8_t code) { return widen<float8_e5m2_format>(code); }
constexpr std::uint8_t float_to_float8_e5m2(float value) {
  return static_cast<std::uint8_t>(narrow<float8_e5m2_format>(value));
}

}  // namespace rondo
