#include "core/cuda/pinned.h"

#include <cstring>

#include "core/cuda/driver.h"
#include "rondo/memory.h"

namespace rondo::cuda {

PageLock::PageLock(void* memory, std::size_t bytes) : memory_(memory) {
  check(driver().mem_host_register(memory, bytes, register_portable | register_device_map),
        "cuMemHostRegister");
  const int status = driver().mem_host_get_device_pointer(&base_, memory, 0);
  if (status == success) return;
  driver().mem_host_unregister(memory);
  check(status, "cuMemHostGetDevicePointer");
}

PageLock::~PageLock() {
  if (memory_ != nullptr) driver().mem_host_unregister(memory_);
}

struct PinnedMemory::Block {
  explicit Block(std::size_t bytes) : memory(allocate(bytes)), lock(memory.data(), memory.size()) {}
  Memory memory;
  PageLock lock;
};

PinnedMemory::PinnedMemory(std::size_t bytes)
    : spares_(Spares::of_current()), block_(spares_->take<Block>(bytes)) {
  if (block_ == nullptr) {
    block_ = std::make_shared<Block>(bytes);
  } else {
    std::memset(data(), 0, size());
  }
}

PinnedMemory::~PinnedMemory() {
  if (block_ == nullptr || spares_ == nullptr) return;
  const std::size_t bytes = size();
  spares_->keep(bytes, std::move(block_));
}

std::byte* PinnedMemory::data() const { return static_cast<std::byte*>(block_->memory.data()); }
std::size_t PinnedMemory::size() const { return block_->memory.size(); }

DevicePointer PinnedMemory::device_address(const void* pointer) const {
  return block_->lock.device_address(pointer);
}

}  // namespace rondo::cuda
