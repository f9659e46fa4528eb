// Host memory that devices copy to and from without a detour.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "core/cuda/spares.h"

namespace rondo::cuda {

/// Host memory that is page-locked in every context of this process while this lives. A context is to
/// be current in the destructor.
class PageLock {
 public:
  /// Throws CudaError.
  PageLock(void* memory, std::size_t bytes);
  PageLock(PageLock&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), base_(other.base_) {}
  PageLock& operator=(PageLock&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(base_, other.base_);
    return *this;
  }
  ~PageLock();
  /// The address by which kernels and operations of streams know `pointer`, which lies in this memory.
  DevicePointer device_address(const void* pointer) const {
    return base_ + (address_of(pointer) - address_of(memory_));
  }

 private:
  void* memory_;
  DevicePointer base_ = 0;
};

/// Zeroed memory that ranks of this machine map (rondo::allocate()), page-locked in every context.
/// The context that was current is to be so in the destructor, too. For one thread at a time.
class PinnedMemory {
 public:
  /// Throws CudaError.
  explicit PinnedMemory(std::size_t bytes);
  /// Keeps the memory for the next one: it stays page-locked. No stream may need it any more, unless
  /// leave() came before.
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&&) noexcept = default;
  PinnedMemory& operator=(PinnedMemory&&) = delete;

  std::byte* data() const;
  std::size_t size() const;
  /// As PageLock's.
  DevicePointer device_address(const void* pointer) const;
  /// A stream may need it still: the destructor gives it back to the driver, which may wait.
  void leave() { spares_.reset(); }

 private:
  struct Block;
  std::shared_ptr<Spares> spares_;  ///< null after leave()
  std::shared_ptr<Block> block_;
};

}  // namespace rondo::cuda
