#include "bench/common/floats.h"

#include <algorithm>
#include <cmath>

namespace rondo::bench {
namespace {

int bias_of(const FloatFormat& format) { return (1 << (format.exponent_bits - 1)) - 1; }

}  // namespace

FloatFormat float_format(DataType type) {
  switch (type) {
    case DataType::float8_e4m3:
      return {4, 3, 448.0};
    case DataType::float8_e5m2:
      return {5, 2, 57344.0};
    case DataType::float16:
      return {5, 10, 65504.0};
    case DataType::bfloat16:
      return {8, 7, std::ldexp(2.0 - std::ldexp(1.0, -7), 127)};
    case DataType::float32:
      return {8, 23, std::ldexp(2.0 - std::ldexp(1.0, -23), 127)};
    case DataType::float64:
      return {11, 52, std::ldexp(2.0 - std::ldexp(1.0, -52), 1023)};
    default:
      return {0, -1, 0.0};
  }
}

std::uint16_t encode_narrow(DataType type, double value) {
  const FloatFormat format = float_format(type);
  const int bias = bias_of(format);
  const int sign_shift = format.exponent_bits + format.mantissa_bits;
  const unsigned sign = std::signbit(value) ? 1U << sign_shift : 0U;
  const double magnitude = std::min(std::fabs(value), format.largest);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  // Below the smallest normal number the spacing stays that of the smallest exponent.
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  // Adding, not or-ing: a mantissa rounded up to the next power of two carries into the exponent.
  const unsigned bits = (static_cast<unsigned>(exponent + bias - 1) << format.mantissa_bits) +
                        static_cast<unsigned>(units);
  return static_cast<std::uint16_t>(sign | bits);
}

double decode_narrow(DataType type, std::uint16_t bits) {
  const FloatFormat format = float_format(type);
  const int bias = bias_of(format);
  const int exponent = (bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
  const int fraction = bits & ((1 << format.mantissa_bits) - 1);
  const bool negative = (bits >> (format.exponent_bits + format.mantissa_bits)) & 1;
  const int units = exponent == 0 ? fraction : fraction + (1 << format.mantissa_bits);
  const double magnitude = std::ldexp(units, std::max(exponent, 1) - bias - format.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

}  // namespace rondo::bench
