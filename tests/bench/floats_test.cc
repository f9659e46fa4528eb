// The checker's own narrow floats, against known bit patterns and themselves.
#include "bench/common/floats.h"

#include <bit>
#include <cmath>

#include "tests/catch.h"

using namespace rondo;
using namespace rondo::bench;

namespace {

struct Known {
  DataType type;
  double value;
  unsigned bits;
};

bool is_finite(DataType type, std::uint16_t bits) {
  const FloatFormat format = float_format(type);
  return std::fabs(decode_narrow(type, bits)) <= format.largest;
}

}  // namespace

TEST_CASE("narrow floats have their published bit patterns") {
  const Known known = GENERATE(
      Known{DataType::float16, 1.0, 0x3c00}, Known{DataType::float16, -2.0, 0xc000},
      Known{DataType::float16, 65504.0, 0x7bff}, Known{DataType::float16, 0x1p-24, 0x0001},
      Known{DataType::float16, 1.0 / 3, 0x3555}, Known{DataType::bfloat16, 1.0, 0x3f80},
      Known{DataType::bfloat16, -256.0, 0xc380}, Known{DataType::bfloat16, 1.0 / 3, 0x3eab},
      Known{DataType::float8_e4m3, 1.0, 0x38}, Known{DataType::float8_e4m3, 448.0, 0x7e},
      Known{DataType::float8_e4m3, 0x1p-9, 0x01}, Known{DataType::float8_e4m3, -16.0, 0xd8},
      Known{DataType::float8_e5m2, 1.0, 0x3c}, Known{DataType::float8_e5m2, 57344.0, 0x7b},
      Known{DataType::float8_e5m2, 0.0, 0x00});
  CAPTURE(name(known.type), known.value);
  CHECK(encode_narrow(known.type, known.value) == known.bits);
}

TEST_CASE("every finite narrow float round-trips") {
  for (const DataType type :
       {DataType::float16, DataType::bfloat16, DataType::float8_e4m3, DataType::float8_e5m2}) {
    const unsigned patterns = 1U << (8 * size_of(type));
    unsigned wrong = 0;
    for (unsigned bits = 0; bits < patterns; ++bits) {
      const auto narrow = static_cast<std::uint16_t>(bits);
      if (!is_finite(type, narrow)) continue;
      wrong += encode_narrow(type, decode_narrow(type, narrow)) != narrow;
    }
    CAPTURE(name(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("bfloat16 is the upper half of float32") {
  for (unsigned bits = 0; bits < 0x7f80; ++bits) {
    const auto value = std::bit_cast<float>(bits << 16);
    if (decode_narrow(DataType::bfloat16, static_cast<std::uint16_t>(bits)) !=
        static_cast<double>(value)) {
      FAIL("bits " << bits);
    }
  }
}

TEST_CASE("ties go to the even neighbour") {
  CHECK(encode_narrow(DataType::float8_e4m3, 17.0) == encode_narrow(DataType::float8_e4m3, 16.0));
  CHECK(encode_narrow(DataType::float8_e4m3, 19.0) == encode_narrow(DataType::float8_e4m3, 20.0));
  CHECK(encode_narrow(DataType::bfloat16, 257.0) == encode_narrow(DataType::bfloat16, 256.0));
}
