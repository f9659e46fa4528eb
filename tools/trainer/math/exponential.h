// exp() and tanh() in float32, in a form that compilers turn into vector code, and the macro that
// makes one source device code under nvcc and ordinary C++ elsewhere.
#pragma once

#include <bit>
#include <cstdint>

#ifdef __CUDACC__
#define RONDO_TRAIN_BOTH __host__ __device__
#else
#define RONDO_TRAIN_BOTH
#endif

namespace rondo::train {

/// The relative error is at most 2e-7. Computes 2^(x log2 e): the whole part becomes the exponent,
/// the rest goes through a polynomial. Below -87 and above 88 the value is that of the limit. NaN
/// stays NaN.
RONDO_TRAIN_BOTH inline float exponential(float x) {
  const float bounded = x < -87.0F ? -87.0F : (x > 88.0F ? 88.0F : x);
  constexpr float shift = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  const float whole = (bounded * 1.44269504F + shift) - shift;
  // x - whole * ln 2 in two parts, exact to float32
  const float rest = (bounded - whole * 0.693359375F) - whole * -2.12194440e-4F;
  float sum = 1.9875691500e-4F;
  sum = sum * rest + 1.3981999507e-3F;
  sum = sum * rest + 8.3334519073e-3F;
  sum = sum * rest + 4.1665795894e-2F;
  sum = sum * rest + 1.6666665459e-1F;
  sum = sum * rest + 5.0000001201e-1F;
  sum = sum * rest * rest + rest + 1.0F;
  const float sane = whole == whole ? whole : 0.0F;  // a NaN has no whole part; the sum carries it
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(sane) + 127) << 23;
  return sum * std::bit_cast<float>(exponent);
}

RONDO_TRAIN_BOTH inline float hyperbolic_tangent(float x) {
  return 1 - 2 / (exponential(2 * x) + 1);
}

}  // namespace rondo::train
