// convert.h against the definition of each format. A value is sign x 2^e x (1 + m / 2^bits).
// Narrowing picks the nearer neighbour, and the even one if both are equally near.
#include "kernels/cpu/convert.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "tests/catch.h"

using namespace rondo;

namespace {

struct Format {
  std::string name;
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
  float (*widen)(std::uint32_t);
  std::uint32_t (*narrow)(float);

  std::uint32_t codes() const { return 1u << (1 + exponent_bits + mantissa_bits); }
  std::uint32_t sign() const { return codes() / 2; }
  std::uint32_t infinity() const { return sign() - (1u << mantissa_bits); }
  std::uint32_t largest() const { return has_infinity ? infinity() - 1 : sign() - 2; }
  bool is_nan(std::uint32_t code) const {
    const std::uint32_t magnitude = code % sign();
    return has_infinity ? magnitude > infinity() : magnitude == sign() - 1;
  }
};

const Format formats[] = {
    {"float16", 5, 10, true,
     [](std::uint32_t code) { return float16_to_float(static_cast<std::uint16_t>(code)); },
     [](float value) -> std::uint32_t { return float_to_float16(value); }},
    {"bfloat16", 8, 7, true,
     [](std::uint32_t code) { return bfloat16_to_float(static_cast<std::uint16_t>(code)); },
     [](float value) -> std::uint32_t { return float_to_bfloat16(value); }},
    {"float8_e4m3", 4, 3, false,
     [](std::uint32_t code) { return float8_e4m3_to_float(static_cast<std::uint8_t>(code)); },
     [](float value) -> std::uint32_t { return float_to_float8_e4m3(value); }},
    {"float8_e5m2", 5, 2, true,
     [](std::uint32_t code) { return float8_e5m2_to_float(static_cast<std::uint8_t>(code)); },
     [](float value) -> std::uint32_t { return float_to_float8_e5m2(value); }},
};

double defined_value(const Format& format, std::uint32_t code) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint32_t magnitude = code % format.sign();
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const double mantissa = magnitude % (1u << format.mantissa_bits);
  const double steps = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
  const int scale = (exponent == 0 ? 1 : exponent) - bias - format.mantissa_bits;
  const double value = std::ldexp(steps, scale);
  return code >= format.sign() ? -value : value;
}

}  // namespace

TEST_CASE("every code widens to its defined value and narrows back to itself", "[convert]") {
  for (const Format& format : formats) {
    INFO(format.name);
    std::uint32_t wrong = 0;
    for (std::uint32_t code = 0; code < format.codes(); ++code) {
      const float value = format.widen(code);
      const bool negative = code >= format.sign();
      if (format.is_nan(code)) {
        wrong += !std::isnan(value) || !format.is_nan(format.narrow(value));
      } else if (format.has_infinity && code % format.sign() == format.infinity()) {
        wrong += !std::isinf(value) || format.narrow(value) != code;
      } else {
        wrong += value != defined_value(format, code) || format.narrow(value) != code;
      }
      wrong += std::signbit(value) != negative;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("narrowing picks the nearer neighbour, and the even one of a tie", "[convert]") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Format& format : formats) {
    INFO(format.name);
    std::uint32_t wrong = 0;
    for (std::uint32_t code = 0; code < format.largest(); ++code) {
      const float low = format.widen(code);
      const float high = format.widen(code + 1);
      const auto middle = static_cast<float>((static_cast<double>(low) + high) / 2);
      const std::uint32_t even = code % 2 == 0 ? code : code + 1;
      wrong += format.narrow(middle) != even;
      wrong += format.narrow(-middle) != (even | format.sign());
      wrong += format.narrow(std::nextafter(middle, 0.0f)) != code;
      wrong += format.narrow(std::nextafter(middle, infinity)) != code + 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("overflow goes to infinity, or saturates where there is none", "[convert]") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Format& format : formats) {
    INFO(format.name);
    const float largest = format.widen(format.largest());
    const double step =
        static_cast<double>(largest) - static_cast<double>(format.widen(format.largest() - 1));
    const auto tie = static_cast<float>(static_cast<double>(largest) + step / 2);
    const std::uint32_t beyond = format.has_infinity ? format.infinity() : format.largest();
    CHECK(format.narrow(std::nextafter(tie, 0.0f)) == format.largest());
    CHECK(format.narrow(tie) == beyond);
    CHECK(format.narrow(std::nextafter(tie, infinity)) == beyond);
    CHECK(format.narrow(std::numeric_limits<float>::max()) == beyond);
    CHECK(format.narrow(infinity) == beyond);
    CHECK(format.narrow(-infinity) == (beyond | format.sign()));
    CHECK(format.is_nan(format.narrow(std::numeric_limits<float>::quiet_NaN())));
    CHECK(format.is_nan(format.narrow(-std::numeric_limits<float>::quiet_NaN())));
    CHECK(format.narrow(std::numeric_limits<float>::denorm_min()) == 0);
  }
}

TEST_CASE("well-known values", "[convert]") {
  static_assert(float16_to_float(0x3c00) == 1.0f);
  static_assert(float_to_float16(65519.0f) == 0x7bff);
  static_assert(float_to_float16(65520.0f) == 0x7c00);
  static_assert(float_to_bfloat16(1.0f) == 0x3f80);
  static_assert(float8_e4m3_to_float(0x7e) == 448.0f);
  static_assert(float_to_float8_e4m3(1e9f) == 0x7e);
  static_assert(float8_e5m2_to_float(0x7b) == 57344.0f);
  static_assert(float_to_float8_e5m2(61440.0f) == 0x7c);
  CHECK(float8_e4m3_to_float(0x01) == std::ldexp(1.0f, -9));
  CHECK(float8_e5m2_to_float(0x01) == std::ldexp(1.0f, -16));
  CHECK(float16_to_float(0x0001) == std::ldexp(1.0f, -24));
}
