#include "bench/common/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace rondo::bench {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::byte guard{0xc3};

std::byte* allocate(std::size_t bytes) {
  const std::size_t pages = (bytes + page_bytes - 1) / page_bytes;
  void* memory = std::aligned_alloc(page_bytes, pages * page_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

std::size_t count_changed(const std::byte* first, std::size_t bytes) {
  return bytes - static_cast<std::size_t>(std::count(first, first + bytes, guard));
}

}  // namespace

void Buffer::Free::operator()(std::byte* memory) const { std::free(memory); }

Buffer::Buffer(std::size_t bytes, std::size_t shift)
    : bytes_(bytes), shift_(shift), memory_(allocate(bytes + shift + 2 * guard_bytes)) {
  std::memset(memory_.get(), std::to_integer<int>(poison), bytes + shift + 2 * guard_bytes);
}

void Buffer::arm(std::size_t used) {
  std::fill_n(memory_.get(), guard_bytes + shift_, guard);
  std::fill_n(data() + used, guard_bytes, guard);
}

std::size_t Buffer::trespassed(std::size_t used) const {
  return count_changed(memory_.get(), guard_bytes + shift_) +
         count_changed(data() + used, guard_bytes);
}

}  // namespace rondo::bench
