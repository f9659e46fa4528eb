// The windows of this process: blocks of rondo::allocate() that peers may map.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "core/memory/shared_memory.h"

namespace rondo {

struct WindowBlock {
  std::uint64_t number = 0;  ///< from 1, unique in this process, never used again
  const std::byte* base = nullptr;
  std::size_t bytes = 0;
};

/// Every method may be called from any thread.
class Windows {
 public:
  /// The process's own. The one mutable global: windows are found by address, and addresses are
  /// the process's. Shared, so that it lives until the last block is freed, even by a static
  /// object's destructor.
  static std::shared_ptr<Windows> of_process();

  /// A block that leaves the registry and is freed with its last owner. Throws what
  /// make_shared_memory() throws.
  static std::shared_ptr<void> allocate(const std::shared_ptr<Windows>& registry,
                                        std::size_t bytes);

  /// The window in which all of [memory, memory + bytes) lies.
  std::optional<WindowBlock> find(const void* memory, std::size_t bytes) const;

  /// A window by number with a descriptor of its memory, the caller's to keep (invalid where none
  /// could be had); nothing where it is freed or never was.
  struct Handle {
    WindowBlock window{};
    UniqueFd descriptor{};
  };
  std::optional<Handle> open(std::uint64_t number) const;

  /// Whether a window is still there.
  bool has(std::uint64_t number) const;

  /// How many have been freed so far. Relaxed: only the number counts, what it says about memory
  /// is found out by open().
  std::uint64_t freed() const { return freed_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    WindowBlock window{};
    int descriptor = -1;  ///< owned by the block
  };

  void add(const SharedMemory& memory);
  void remove(const std::byte* base);

  mutable std::shared_mutex mutex_{};
  std::vector<Entry> entries_{};  ///< sorted by base
  std::uint64_t last_number_ = 0;
  std::atomic<std::uint64_t> freed_{0};
};

}  // namespace rondo
