#include "core/base/readable.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/catch.h"

namespace rondo {
namespace {

constexpr std::size_t page = 4096;

TEST_CASE("memory of every kind is readable, whatever its alignment") {
  static const int constant = 5;
  const int on_stack = 5;
  const std::vector<char> on_heap(3 * page);
  CHECK(is_readable(&constant));
  CHECK(is_readable(&on_stack));
  CHECK(is_readable(reinterpret_cast<const void*>(&is_readable)));
  for (std::size_t i = 0; i < on_heap.size(); i += 7) CHECK(is_readable(on_heap.data() + i));
}

TEST_CASE("memory that nobody may touch is not readable, from its first byte to its last") {
  void* const mapped =
      ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const first = static_cast<std::byte*>(mapped);
  REQUIRE(::mprotect(first + page, page, PROT_NONE) == 0);
  REQUIRE(::mprotect(first + 2 * page, page, PROT_READ) == 0);
  CHECK(is_readable(first + page - 1));
  errno = EXDEV;
  const bool guard = is_readable(first + page);
  const int after = errno;
  CHECK_FALSE(guard);
  CHECK(after == EXDEV);
  CHECK_FALSE(is_readable(first + 2 * page - 1));
  CHECK(is_readable(first + 2 * page));
  REQUIRE(::munmap(mapped, 3 * page) == 0);
  CHECK_FALSE(is_readable(first));
}

TEST_CASE("numbers that are no addresses are not readable") {
  const std::uintptr_t number = GENERATE(
      values<std::uintptr_t>({0, 1, 7, 8, 4095, 0xdead'beef'dead'beef, ~std::uintptr_t{0}}));
  CHECK_FALSE(is_readable(reinterpret_cast<const void*>(number)));
}

}  // namespace
}  // namespace rondo
