// CRC32C as RFC 3720 (B.4) has it: ISA-L leaves the inversions to its callers.
#include "core/base/checksum.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "tests/catch.h"

namespace rondo {
namespace {

TEST_CASE("crc32c gives the sums of RFC 3720") {
  std::vector<std::byte> bytes(32);
  CHECK(crc32c(bytes) == 0x8a9136aa);
  std::ranges::fill(bytes, std::byte{0xff});
  CHECK(crc32c(bytes) == 0x62a8ab43);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  CHECK(crc32c(bytes) == 0x46dd794e);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(31 - i);
  CHECK(crc32c(bytes) == 0x113fdb5c);
  CHECK(crc32c(std::as_bytes(std::span(std::string_view("123456789")))) == 0xe3069283);
  CHECK(crc32c({}) == 0);
}

TEST_CASE("crc32c of any length at any address notices each changed bit") {
  std::vector<std::byte> bytes(1500);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 >> 3);
  for (const std::size_t length : {1u, 7u, 8u, 63u, 64u, 255u, 256u, 1031u}) {
    for (std::size_t begin = 0; begin < 9; ++begin) {
      const auto part = std::span(bytes).subspan(begin, length);
      const std::uint32_t sum = crc32c(part);
      CHECK(crc32c(std::vector(part.begin(), part.end())) == sum);
      for (std::size_t bit = 0; bit < length * 8; bit += 1 + length / 8) {
        part[bit / 8] ^= std::byte{1} << (bit % 8);
        CHECK(crc32c(part) != sum);
        part[bit / 8] ^= std::byte{1} << (bit % 8);
      }
    }
  }
}

}  // namespace
}  // namespace rondo
