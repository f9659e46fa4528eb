// Frames, each a header and its payload, and the memory in which they wait for the kernel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <type_traits>

namespace rondo::tcp {

/// Only its last FrameSizes::header bytes travel.
struct FrameHeader {
  std::uint32_t unused = 0;
  std::uint32_t checksum = 0;  ///< see FrameTag
  std::uint64_t fingerprint = 0;
  std::uint32_t bytes = 0;   ///< of the payload
  std::uint32_t number = 0;  ///< of the frame in its channel, from 0, modulo 2^32: a check

  /// The last `count` bytes.
  std::span<std::byte> last(std::size_t count) {
    return std::as_writable_bytes(std::span(this, 1)).last(count);
  }
};
static_assert(sizeof(FrameHeader) == 24 && offsetof(FrameHeader, fingerprint) == 8 &&
              std::is_trivially_copyable_v<FrameHeader>);

/// Sizes of a channel's frames, equal at both ends.
struct FrameSizes {
  std::size_t slot = 0;  ///< most payload bytes
  std::size_t header = plain_header;

  static constexpr std::size_t plain_header = 16;  ///< from the fingerprint on
  static constexpr std::size_t checked_header = sizeof(FrameHeader);
};
static_assert(sizeof(FrameHeader) - offsetof(FrameHeader, fingerprint) == FrameSizes::plain_header);

/// The two ends of a channel, for error texts.
struct Ends {
  int rank = -1;
  int peer = -1;
};

/// 64-byte aligned memory; pages that are never touched are never taken.
class Buffer {
 public:
  Buffer() = default;
  /// Throws Error{out_of_memory}.
  Buffer(std::size_t bytes, const Ends& ends);
  std::byte* data() const { return memory_.get(); }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_{};
};

/// Frames that the kernel has not taken yet, one after another, in memory for two and a half of the
/// longest. So there is room for two of those, or for many short ones. While the kernel keeps up
/// all begin at the same place, which stays in the cache.
class UnsentFrames {
 public:
  UnsentFrames(std::size_t slot_bytes, const Ends& ends) : slot_bytes_(slot_bytes), ends_(ends) {}

  /// How many frames of `frame_bytes` or less have room, whatever was there before.
  static std::size_t depth(std::size_t slot_bytes, std::size_t frame_bytes);

  bool empty() const { return count_ == 0; }
  /// Payload memory of the next frame, slot_bytes long, 64-byte aligned; null while there is no
  /// room. It stays the same until commit().
  std::byte* acquire();
  /// The acquired frame's payload has `bytes`. The last `header_bytes` of its header are still to
  /// be sent.
  void commit(const FrameHeader& header, std::size_t header_bytes, std::size_t bytes);
  /// What the oldest frame still has to send.
  std::span<std::byte> front() const;
  void sent(std::size_t bytes);

 private:
  static constexpr std::size_t most = 64;  ///< frames
  /// A header lies right before its payload, which starts a cache line.
  static constexpr std::size_t payload_offset = 64;
  struct Unsent {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  static std::size_t block(std::size_t bytes);
  std::size_t room() const { return block(slot_bytes_) * 5 / 2; }
  bool fits(std::size_t place) const { return place + block(slot_bytes_) <= room(); }
  std::size_t behind() const;
  void move_to_front();

  std::size_t slot_bytes_;
  Ends ends_;
  Buffer memory_{};  ///< made at first use
  std::array<Unsent, most> frames_{};
  std::size_t first_ = 0;  ///< the oldest one's index
  std::size_t count_ = 0;
  std::size_t place_ = 0;  ///< of the acquired frame
  bool acquired_ = false;
};

}  // namespace rondo::tcp
