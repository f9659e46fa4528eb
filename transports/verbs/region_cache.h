// Decides which of the user's memory a device reads in place, registered once, and which is copied.
//
// Memory can stay registered only where rondo learns when it is freed: windows (rondo::allocate()).
// Other memory may be unmapped by free() or munmap() without notice. Its registration would then name
// pages that nobody sees any more, and what is mapped there next would be sent wrongly without an
// error. A library cannot watch for that safely: hooks of malloc and munmap miss direct system calls
// and other libraries' hooks. So such memory is copied into slots.
//
// Registering a byte is assumed to cost as much as copying it, and it pins the page. So a block is
// registered once as many bytes have been copied out of it as it has. That costs at most twice the
// better of the two.
//
// Needs no libibverbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace rondo::verbs {

/// Memory whose owner reports when it is freed. Value type.
struct Block {
  std::uint64_t number = 0;  ///< of its source, never used again
  const std::byte* base = nullptr;
  std::size_t bytes = 0;
};

/// The owner of blocks. Thread-safe.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// The block in which all of [memory, memory + bytes) lies.
  virtual std::optional<Block> find(const void* memory, std::size_t bytes) const = 0;
  /// How many have been freed so far; grows before the memory may be another's.
  virtual std::uint64_t freed() const = 0;
};
/// The blocks of rondo::allocate().
std::shared_ptr<const BlockSource> blocks_of_process();

/// A block that a device knows, until the last owner of `handle` goes.
struct Registration {
  std::shared_ptr<void> handle{};
  std::uint32_t key = 0;  ///< ibv_mr::lkey
};

/// The blocks that one device knows. One thread at a time. It allocates only at a block's first
/// use.
class RegionCache {
 public:
  struct Limits {
    std::size_t blocks = 64;
    std::size_t bytes = std::size_t{16} << 30;  ///< registered at a time
  };
  /// The device that the cache is for.
  class Device {
   public:
    virtual ~Device() = default;
    /// Throws Error where the device refuses: then the block is copied from then on.
    virtual Registration register_block(const Block& block) = 0;
    static constexpr std::uint64_t nothing_read = ~std::uint64_t{0};
    /// The oldest of uses() that it may still read memory of, be it only to send it once more:
    /// blocks used then or later stay known to it. nothing_read: none.
    virtual std::uint64_t oldest_read() const = 0;
  };

  /// `device` outlives the cache.
  RegionCache(std::shared_ptr<const BlockSource> source, Device& device, Limits limits);

  /// The key by which work requests name the memory. Empty: copy it; the cache counts the bytes.
  /// The least recently used block makes room where a limit is reached.
  std::optional<std::uint32_t> key(std::span<const std::byte> memory);
  /// Deregisters blocks that were freed, as key() does. False where the device may still read some
  /// of them: their pages stay pinned until a later call.
  bool forget_freed();

  /// Uses of blocks so far. The last key() had this number.
  std::uint64_t uses() const { return uses_; }
  std::uint64_t registrations() const { return registrations_; }  ///< made so far
  std::size_t registered_bytes() const { return registered_bytes_; }

 private:
  struct Entry {
    Block block{};
    std::size_t copied = 0;  ///< bytes, before it was registered
    Registration registration{};
    bool refused = false;
    std::uint64_t used = 0;
  };
  Entry* entry_of(std::span<const std::byte> memory);
  void register_entry(Entry& entry);
  bool make_room(const Block& block);
  void release(Entry& entry);
  bool is_read(const Entry& entry) const;
  void retire_freed();
  void release_retired();

  std::shared_ptr<const BlockSource> source_;
  Device& device_;
  Limits limits_;
  std::vector<Entry> entries_{};
  std::vector<Entry> retired_{};  ///< freed by their owner, still known to the device
  std::uint64_t freed_ = 0;
  std::uint64_t uses_ = 0;
  std::uint64_t registrations_ = 0;
  std::size_t registered_bytes_ = 0;
};

}  // namespace rondo::verbs
