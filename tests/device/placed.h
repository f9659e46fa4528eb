// What the tests of the device executor share: the oracle, and placed memory.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "tests/device/host_group.h"
#include "tests/support/oracle.h"

namespace rondo::device::test {

using rondo::test::Expected;
using rondo::test::expected_of;

/// How often a wait looks at its word before it fails the test: far more than any run needs.
inline constexpr std::uint32_t ample_patience = 200'000'000;

/// Bytes that begin `offset` bytes after an aligned place. Code that a test has made wrong may write
/// a slice behind them.
class Placed {
 public:
  Placed(const Bytes& bytes, std::size_t offset)
      : memory_(bytes.size() / sizeof(Line) + 2 + behind), offset_(offset), size_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), data());
  }
  std::byte* data() { return memory_.front().bytes.data() + offset_; }
  Bytes bytes() { return {data(), data() + size_}; }
  std::size_t size() const { return size_; }
  std::span<const std::byte> span() const {
    return {memory_.front().bytes.data() + offset_, size_};
  }

 private:
  static constexpr std::size_t behind = 8192 / sizeof(Line);

  std::vector<Line> memory_;
  std::size_t offset_;
  std::size_t size_;
};

}  // namespace rondo::device::test
