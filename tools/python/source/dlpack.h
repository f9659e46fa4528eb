// DLPack's structures, by which array libraries pass memory to each other. Versions 0.8 and 1.0 of
// its specification, without the parts that only versioned capsules have.
#pragma once

#include <cstdint>

namespace rondo_python::dlpack {

/// Device types whose memory this process may read.
inline constexpr std::int32_t cpu = 1;
inline constexpr std::int32_t pinned_for_cuda = 3;

enum class Code : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  real = 2,
  bfloat = 4,
  complex = 5,
  boolean = 6,
  float8_e4m3 = 10,
  float8_e5m2 = 12,
};

struct Tensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_number;
  std::int32_t dimensions;
  Code code;
  std::uint8_t bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: contiguous
  std::uint64_t offset;   ///< bytes
};

struct Managed {
  Tensor tensor;
  void* context;
  void (*release)(Managed*);
};

}  // namespace rondo_python::dlpack
