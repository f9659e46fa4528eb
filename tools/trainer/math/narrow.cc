#include "tools/trainer/math/narrow.h"

#include <bit>
#include <cmath>

namespace rondo::train {
namespace {

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Uses float32's own rounding: adding 2^(24-10) ulps of the result's exponent rounds to 10 bits.
std::uint16_t to_fp16(float value) {
  const auto sign =
      static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) >> 16) & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520.0F) return sign | 0x7c00;  // halfway between the largest and the next
  constexpr float smallest_normal = 0x1p-14F;
  if (magnitude < smallest_normal) {  // subnormal: units of 2^-24, added to 2^-1 rounds to them
    const float sum = magnitude + 0.5F;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(sum) - 0x3f000000U);
  }
  auto bits = std::bit_cast<std::uint32_t>(magnitude);
  bits += 0xfff + ((bits >> 13) & 1);  // to nearest even at bit 13
  return sign | static_cast<std::uint16_t>((bits - (112U << 23)) >> 13);
}

float from_fp16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1f;
  const std::uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

}  // namespace

std::uint16_t narrow(float value, Precision precision) {
  return precision == Precision::bf16 ? to_bf16(value) : to_fp16(value);
}

float widen(std::uint16_t bits, Precision precision) {
  return precision == Precision::bf16 ? from_bf16(bits) : from_fp16(bits);
}

void narrow(std::span<const float> from, std::span<std::uint16_t> into, Precision precision) {
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = narrow(from[i], precision);
}

void widen(std::span<const std::uint16_t> from, std::span<float> into, Precision precision) {
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = widen(from[i], precision);
}

void round_to(std::span<float> values, Precision precision) {
  if (precision == Precision::float32) return;
  for (float& value : values) value = widen(narrow(value, precision), precision);
}

}  // namespace rondo::train
