#include "core/cuda/pinned.h"

#include <cstring>

#include "core/cuda/driver.h"
#include "rondo/memory.h"

namespace rondo::cuda {

class PinnedMemory::Block {
 public:
  explicit Block(std::size_t bytes) : memory_(allocate(bytes)) {
    check(driver().mem_host_register(memory_.data(), memory_.size(),
                                     register_portable | register_device_map),
          "cuMemHostRegister");
    const int status = driver().mem_host_get_device_pointer(&base_, memory_.data(), 0);
    if (status == success) return;
    driver().mem_host_unregister(memory_.data());
    check(status, "cuMemHostGetDevicePointer");
  }
  ~Block() { driver().mem_host_unregister(memory_.data()); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(memory_.data()); }
  std::size_t size() const { return memory_.size(); }
  DevicePointer base() const { return base_; }

 private:
  Memory memory_;
  DevicePointer base_ = 0;
};

PinnedMemory::PinnedMemory(std::size_t bytes)
    : spares_(Spares::of_current()), block_(spares_->take<Block>(bytes)) {
  if (block_ == nullptr) {
    block_ = std::make_shared<Block>(bytes);
  } else {
    std::memset(block_->data(), 0, block_->size());
  }
}

PinnedMemory::~PinnedMemory() {
  if (block_ == nullptr || spares_ == nullptr) return;
  const std::size_t bytes = block_->size();
  spares_->keep(bytes, std::move(block_));
}

std::byte* PinnedMemory::data() const { return block_->data(); }
std::size_t PinnedMemory::size() const { return block_->size(); }

DevicePointer PinnedMemory::device_address(const void* pointer) const {
  return block_->base() + (address_of(pointer) - address_of(block_->data()));
}

}  // namespace rondo::cuda
