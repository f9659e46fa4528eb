// Narrow floats computed slowly from their definition, so that checks do not depend on rondo's
// kernels.
#pragma once

#include <cstdint>

#include "rondo/types.h"

namespace rondo::bench {

/// The layout of a binary float: sign, exponent, mantissa.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;  ///< stored bits; one more is implied
  double largest;     ///< largest finite value
};

/// The format of a floating type. Integer types have none (mantissa_bits < 0).
FloatFormat float_format(DataType type);

/// The 8 or 16 bits nearest to `value` (ties to even). Beyond the largest value: that value, which
/// the benchmarks never reach.
std::uint16_t encode_narrow(DataType type, double value);
/// The value of 8 or 16 bits that are neither infinity nor NaN.
double decode_narrow(DataType type, std::uint16_t bits);

}  // namespace rondo::bench
