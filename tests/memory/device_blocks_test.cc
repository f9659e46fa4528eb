// Blocks of GPU memory that are offered to other devices: found by any of their bytes, as long as
// they are offered.
#include "core/memory/device_blocks.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "tests/catch.h"

namespace rondo {
namespace {

const std::byte* at(std::uintptr_t address) { return reinterpret_cast<const std::byte*>(address); }

UniqueFd some_file() { return UniqueFd(::memfd_create("dma-buf", MFD_CLOEXEC)); }
bool is_open(int file) { return ::fcntl(file, F_GETFD) >= 0; }

}  // namespace

TEST_CASE("a device's block is found by any range inside it, until it is taken back") {
  const auto blocks = std::make_shared<DeviceBlocks>();
  CHECK_FALSE(blocks->any());
  CHECK_FALSE(blocks->find(at(0x10000), 1));
  auto offered = DeviceBlocks::offer(blocks, at(0x10000), 0x1000, some_file());
  const auto other = DeviceBlocks::offer(blocks, at(0x11000), 0x1000, some_file());
  CHECK(blocks->any());
  const auto found = blocks->find(at(0x10000), 0x1000);
  REQUIRE(found);
  CHECK(found->base == at(0x10000));
  CHECK(found->bytes == 0x1000);
  CHECK(is_open(found->dmabuf));
  CHECK(blocks->find(at(0x10fff), 1)->number == found->number);
  CHECK(blocks->find(at(0x11000), 1)->number != found->number);
  CHECK_FALSE(blocks->find(at(0x10fff), 2));  // of two of them
  CHECK_FALSE(blocks->find(at(0xffff), 2));
  CHECK_FALSE(blocks->find(at(0x12000), 1));
  CHECK_FALSE(blocks->find(at(0x11000), ~std::size_t{0}));

  CHECK(blocks->taken_back() == 0);
  offered.reset();
  CHECK(blocks->taken_back() == 1);
  CHECK_FALSE(blocks->find(at(0x10000), 1));
  CHECK_FALSE(is_open(found->dmabuf));
  CHECK(blocks->any());
  const auto again = DeviceBlocks::offer(blocks, at(0x10000), 0x1000, some_file());
  CHECK(blocks->find(at(0x10000), 1)->number > found->number);
}

}  // namespace rondo
