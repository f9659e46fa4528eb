// Slot ring: frames from one writer to one reader through memory that both map.
//
//   control  | released (reader writes) | left flags |
//   slot 0   | sequence fingerprint bytes checksum inline[40] | payload ... |
//   slot 1   | ...
//
// - Frame n (from 1) lies in slot (n - 1) mod depth. It is there once that slot's sequence is n.
// - Every counter has a single writer.
// - A payload of at most 40 bytes travels in the sequence's own cache line. So the reader gets
//   flag, tag and data with one line transfer.
// - The writer reads `released` only when its cached value says that the ring is full.
// - Cursors are private memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "core/transport/transport.h"

namespace rondo {

inline constexpr std::size_t inline_bytes = 40;

struct alignas(64) SlotHeader {
  /// Number of the frame in this slot. The writer's release store publishes the rest of the slot to
  /// the reader's acquire load.
  std::atomic<std::uint64_t> sequence{0};
  std::uint64_t fingerprint = 0;
  std::uint32_t bytes = 0;
  std::uint32_t checksum = 0;
  std::array<std::byte, inline_bytes> inlined{};
};
static_assert(sizeof(SlotHeader) == 64 && offsetof(SlotHeader, bytes) == 16 &&
              offsetof(SlotHeader, checksum) == 20 && offsetof(SlotHeader, inlined) == 24);
/// The part of a SlotHeader that describes the frame: number, fingerprint, length, checksum.
inline constexpr std::size_t slot_header_bytes = offsetof(SlotHeader, inlined);

struct RingControl {
  /// Frames that the reader is done with. Its release store pairs with the writer's acquire load
  /// before a slot is used again.
  alignas(128) std::atomic<std::uint64_t> released{0};
  /// Set once, with release, when an end goes. A reader that sees the flag with acquire also sees
  /// everything that this end wrote before.
  alignas(128) std::atomic<std::uint32_t> writer_left{0};
  std::atomic<std::uint32_t> reader_left{0};
};
static_assert(sizeof(RingControl) == 256);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

/// Sizes of a ring. The stride is an odd number of 128-byte blocks beyond a power of two, so slots
/// do not fall on the same cache sets.
struct RingShape {
  std::size_t slot_bytes = 0;
  std::size_t depth = 0;

  std::size_t stride() const { return (sizeof(SlotHeader) + slot_bytes + 127) / 128 * 128; }
  std::size_t bytes() const { return sizeof(RingControl) + depth * stride(); }
};

/// Typed access to a ring's memory: zero-filled bytes are an empty ring. Does not own it.
class RingView {
 public:
  RingView() = default;
  RingView(std::byte* memory, RingShape shape)
      : memory_(memory), stride_(shape.stride()), shape_(shape) {}

  const RingShape& shape() const { return shape_; }
  RingControl& control() const { return *reinterpret_cast<RingControl*>(memory_); }
  SlotHeader& header(std::size_t slot) const { return *reinterpret_cast<SlotHeader*>(at(slot)); }
  std::byte* payload(std::size_t slot) const { return at(slot) + sizeof(SlotHeader); }
  std::size_t after(std::size_t slot) const { return slot + 1 == shape_.depth ? 0 : slot + 1; }

 private:
  std::byte* at(std::size_t slot) const { return memory_ + sizeof(RingControl) + slot * stride_; }

  std::byte* memory_ = nullptr;
  std::size_t stride_ = 0;
  RingShape shape_{};
};

class RingWriter {
 public:
  RingWriter() = default;
  explicit RingWriter(RingView ring) : ring_(ring) {}

  /// The next slot's payload memory, or empty while the ring is full.
  std::span<std::byte> acquire() {
    if (sent_ - released_ == ring_.shape().depth) [[unlikely]] {
      released_ = ring_.control().released.load(std::memory_order_acquire);
      if (sent_ - released_ == ring_.shape().depth) return {};
    }
    return {ring_.payload(slot_), ring_.shape().slot_bytes};
  }

  /// Publishes the acquired slot.
  void commit(std::size_t bytes, FrameTag tag) {
    SlotHeader& header = ring_.header(slot_);
    header.fingerprint = tag.fingerprint;
    header.bytes = static_cast<std::uint32_t>(bytes);
    header.checksum = tag.checksum;
    // A copy of constant length is two vector moves; what lies beyond `bytes` is never read.
    if (bytes <= inline_bytes)
      std::memcpy(header.inlined.data(), ring_.payload(slot_), inline_bytes);
    header.sequence.store(++sent_, std::memory_order_release);
    slot_ = ring_.after(slot_);
  }

  bool reader_left() const {
    return ring_.control().reader_left.load(std::memory_order_acquire) != 0;
  }
  void leave() { ring_.control().writer_left.store(1, std::memory_order_release); }

 private:
  RingView ring_{};
  std::size_t slot_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t released_ = 0;  ///< last value seen
};

class RingReader {
 public:
  RingReader() = default;
  explicit RingReader(RingView ring) : ring_(ring) {}

  /// Fills `frame` from the head slot; false while it has not arrived. A frame whose size does not
  /// fit (memory overwritten) shows as an empty pointer with that size.
  bool peek(Frame& frame) const {
    const SlotHeader& header = ring_.header(slot_);
    if (header.sequence.load(std::memory_order_acquire) != taken_ + 1) return false;
    const std::byte* data =
        header.bytes <= inline_bytes ? header.inlined.data() : ring_.payload(slot_);
    frame.tag = {header.fingerprint, header.checksum};
    frame.payload = {data, header.bytes};
    return true;
  }

  void release() {
    slot_ = ring_.after(slot_);
    ring_.control().released.store(++taken_, std::memory_order_release);
  }

  const RingShape& shape() const { return ring_.shape(); }
  bool writer_left() const {
    return ring_.control().writer_left.load(std::memory_order_acquire) != 0;
  }
  void leave() { ring_.control().reader_left.store(1, std::memory_order_release); }

 private:
  RingView ring_{};
  std::size_t slot_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace rondo
