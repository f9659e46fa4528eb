// CUDA's conversions of small floats, run on the host, against kernels/cpu/convert.h: every code to
// float, and floats around every code back.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/convert.h"
#include "kernels/cuda/convert.cuh"
#include "tests/catch.h"

namespace {

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

struct Format {
  const char* name;
  std::uint32_t codes;
  float (*widen)(std::uint32_t code);
  float (*widen_cuda)(std::uint32_t code);
  std::uint32_t (*narrow)(float value);
  std::uint32_t (*narrow_cuda)(float value);
};

template <class Code, float (*widen)(Code)>
float widened(std::uint32_t code) {
  return widen(static_cast<Code>(code));
}
template <class Code, Code (*narrow)(float)>
std::uint32_t narrowed(float value) {
  return narrow(value);
}

namespace cuda = rondo::device;

constexpr Format formats[] = {
    {"float16", 65536, widened<std::uint16_t, rondo::float16_to_float>,
     widened<std::uint16_t, cuda::float16_to_float>,
     narrowed<std::uint16_t, rondo::float_to_float16>,
     narrowed<std::uint16_t, cuda::float_to_float16>},
    {"bfloat16", 65536, widened<std::uint16_t, rondo::bfloat16_to_float>,
     widened<std::uint16_t, cuda::bfloat16_to_float>,
     narrowed<std::uint16_t, rondo::float_to_bfloat16>,
     narrowed<std::uint16_t, cuda::float_to_bfloat16>},
    {"float8_e4m3", 256, widened<std::uint8_t, rondo::float8_e4m3_to_float>,
     widened<std::uint8_t, cuda::float8_e4m3_to_float>,
     narrowed<std::uint8_t, rondo::float_to_float8_e4m3>,
     narrowed<std::uint8_t, cuda::float_to_float8_e4m3>},
    {"float8_e5m2", 256, widened<std::uint8_t, rondo::float8_e5m2_to_float>,
     widened<std::uint8_t, cuda::float8_e5m2_to_float>,
     narrowed<std::uint8_t, rondo::float_to_float8_e5m2>,
     narrowed<std::uint8_t, cuda::float_to_float8_e5m2>},
};

/// Both narrow the value to the same number.
bool narrows_alike(const Format& format, float value) {
  return same(format.widen(format.narrow(value)), format.widen(format.narrow_cuda(value)));
}

}  // namespace

TEST_CASE("CUDA widens every code as the CPU does", "[cuda]") {
  for (const Format& format : formats) {
    std::uint32_t wrong = 0;
    for (std::uint32_t code = 0; code < format.codes; ++code)
      wrong += !same(format.widen(code), format.widen_cuda(code));
    INFO(format.name);
    CHECK(wrong == 0);
  }
}

TEST_CASE("CUDA narrows as the CPU does: codes, values between them, and values beyond them",
          "[cuda]") {
  for (const Format& format : formats) {
    std::uint32_t wrong = 0;
    for (std::uint32_t code = 0; code < format.codes; ++code) {
      const float value = format.widen(code);
      if (!std::isfinite(value)) continue;
      const float next = format.widen((code + 1) % format.codes);
      const float tie = std::isfinite(next) ? value / 2 + next / 2 : value;
      for (const float middle : {value, tie}) {
        wrong += !narrows_alike(format, middle);
        wrong += !narrows_alike(format, std::nextafter(middle, INFINITY));
        wrong += !narrows_alike(format, std::nextafter(middle, -INFINITY));
      }
    }
    for (const float value : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e38f, -1e38f, 1e-40f, 500.0f,
                              60000.0f, 65504.0f, 65519.9f, 65520.0f, 448.0f, 464.0f, 465.0f})
      wrong += !narrows_alike(format, value);
    INFO(format.name);
    CHECK(wrong == 0);
  }
}
