// What the tests of the device executor share: the reference's arithmetic, inputs, placed memory.
#pragma once

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "core/schedule/reference.h"
#include "kernels/cpu/reduce.h"
#include "tests/device/host_group.h"

namespace rondo::device::test {

inline const Arithmetic cpu_arithmetic{
    .reduce = [](DataType type, ReduceOperator op, void* out, std::span<const void* const> operands,
                 std::size_t count) { reduce(type, op, out, operands, count); },
    .scale = scale,
    .divide = divide};

/// How often a wait looks at its word before it fails the test: far more than any run needs.
inline constexpr std::uint64_t ample_patience = 200'000'000;

/// Small non-negative numbers of any type: no byte makes a NaN or an overflow.
inline Bytes random_bytes(std::size_t bytes, std::mt19937& random) {
  Bytes made(bytes);
  for (std::byte& byte : made) byte = static_cast<std::byte>(random() % 48);
  return made;
}

/// Bytes that begin `offset` bytes after an aligned place.
class Placed {
 public:
  Placed(const Bytes& bytes, std::size_t offset)
      : memory_(bytes.size() / sizeof(Line) + 2), offset_(offset), size_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), data());
  }
  std::byte* data() { return memory_.front().bytes.data() + offset_; }
  Bytes bytes() { return {data(), data() + size_}; }
  std::size_t size() const { return size_; }

 private:
  std::vector<Line> memory_;
  std::size_t offset_;
  std::size_t size_;
};

}  // namespace rondo::device::test
