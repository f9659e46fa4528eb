// The GPU memory that this process offers to devices of other kinds, as dma-bufs. Each block's end
// is announced, since a network adapter that knows the block must then forget it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "core/base/unique_fd.h"

namespace rondo {

struct DeviceBlock {
  std::uint64_t number = 0;         ///< unique in this process, and none of a WindowBlock
  const std::byte* base = nullptr;  ///< where programs know it; the host cannot touch it
  std::size_t bytes = 0;
  int dmabuf = -1;  ///< of the block alone; open as long as the block is offered
};

/// Every method may be called from any thread.
class DeviceBlocks {
 public:
  /// The process's own, for the reasons of Windows::of_process().
  static std::shared_ptr<DeviceBlocks> of_process();

  /// Offers a block until the last owner of the result goes, which must be before the memory does.
  static std::shared_ptr<void> offer(const std::shared_ptr<DeviceBlocks>& blocks, const void* base,
                                     std::size_t bytes, UniqueFd dmabuf);

  /// The block in which all of [memory, memory + bytes) lies.
  std::optional<DeviceBlock> find(const void* memory, std::size_t bytes) const;
  /// Whether there may be any. Relaxed: code that was told of a block knows that there is one.
  bool any() const { return count_.load(std::memory_order_relaxed) > 0; }
  /// How many have been taken back so far. Relaxed: only the number counts.
  std::uint64_t taken_back() const { return taken_back_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    DeviceBlock block{};
    UniqueFd dmabuf{};
  };
  std::uint64_t add(DeviceBlock block, UniqueFd dmabuf);
  void remove(std::uint64_t number);

  mutable std::shared_mutex mutex_{};
  std::vector<Entry> entries_{};
  std::uint64_t last_number_ = std::uint64_t{1} << 63;  ///< windows count from 1
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> taken_back_{0};
};

}  // namespace rondo
