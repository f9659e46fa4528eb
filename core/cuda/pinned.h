// Host memory that devices copy to and from without a detour.
#pragma once

#include <cstddef>
#include <memory>

#include "core/cuda/spares.h"

namespace rondo::cuda {

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
  /// The address by which stream memory operations know `pointer`, which lies in this memory.
  DevicePointer device_address(const void* pointer) const;
  /// A stream may need it still: the destructor gives it back to the driver, which may wait.
  void leave() { spares_.reset(); }

 private:
  class Block;
  std::shared_ptr<Spares> spares_;  ///< null after leave()
  std::shared_ptr<Block> block_;
};

}  // namespace rondo::cuda
