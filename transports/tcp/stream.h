// The data path of one TCP socket, one direction: frames out, frames in.
//
// All reads and writes are non-blocking system calls on the caller's thread. A frame is a header
// and its payload; a frame from a slot leaves in one send(), one from the caller's memory in one
// sendmsg() of header and payload.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include "core/base/unique_fd.h"

namespace rondo::tcp {

struct FrameHeader {
  std::uint64_t fingerprint = 0;
  std::uint32_t bytes = 0;   ///< of the payload
  std::uint32_t number = 0;  ///< of the frame in its channel, from 0, modulo 2^32: a check
};
static_assert(sizeof(FrameHeader) == 16 && std::is_trivially_copyable_v<FrameHeader>);

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

/// Frames into a socket: two slots, so that one can be filled while the kernel is slow to take the
/// other. Every call throws Error{peer_lost} once the socket is broken.
class StreamWriter {
 public:
  StreamWriter(std::size_t slot_bytes, Ends ends) : slot_bytes_(slot_bytes), ends_(ends) {}

  void connect(UniqueFd socket) { socket_ = std::move(socket); }
  bool connected() const { return static_cast<bool>(socket_); }
  int descriptor() const { return socket_.get(); }

  /// A free slot's payload memory, or empty while the kernel has not taken both.
  std::span<std::byte> acquire();
  void commit(std::size_t bytes, std::uint64_t fingerprint, std::uint32_t number);
  /// As SendChannel::send_from(). finished() tells whether the frame it began is complete.
  std::size_t send_from(std::span<const std::byte> bytes, std::uint64_t fingerprint,
                        std::uint32_t number);
  bool finished() const { return direct_left_ == 0; }
  /// Writes what the kernel takes. True when bytes moved.
  bool flush();
  bool pending() const { return pending_ > 0; }

 private:
  static constexpr std::size_t slots = 2;
  // A header lies right before its payload, which starts a cache line.
  static constexpr std::size_t payload_offset = 64;
  static constexpr std::size_t header_offset = payload_offset - sizeof(FrameHeader);
  struct Unsent {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::byte* slot(std::size_t index) const;
  std::size_t direct(std::span<const std::byte> bytes);

  UniqueFd socket_{};
  std::size_t slot_bytes_;
  Ends ends_;
  Buffer memory_{};
  std::array<Unsent, slots> unsent_{};
  std::size_t first_ = 0;    ///< oldest slot with unsent bytes
  std::size_t pending_ = 0;  ///< slots with unsent bytes
  FrameHeader direct_header_{};
  std::size_t direct_header_left_ = 0;
  std::size_t direct_left_ = 0;  ///< payload bytes of the send_from() frame still to come
};

/// Frames out of a socket. What the kernel hands over beyond the asked-for bytes waits in a small
/// staging area, so that a small frame costs one system call and its successor often none.
class StreamReader {
 public:
  StreamReader(std::size_t slot_bytes, Ends ends) : slot_bytes_(slot_bytes), ends_(ends) {}

  void connect(UniqueFd socket) { socket_ = std::move(socket); }
  bool connected() const { return static_cast<bool>(socket_); }
  int descriptor() const { return socket_.get(); }

  /// The current frame's header once it has arrived. Throws Error: peer_lost at the stream's end,
  /// internal when the bytes are no frame `number`.
  const FrameHeader* header(std::uint32_t number);
  /// Reads the current frame's payload into `destination` (no longer than what is left of it);
  /// 0: nothing there yet.
  std::size_t read(std::span<std::byte> destination, bool ends_frame);
  /// The current frame has been read whole: the next header is looked for.
  void next() { header_.reset(); }

 private:
  static constexpr std::size_t staging_bytes = 4096;
  std::size_t receive(std::span<std::byte> destination, bool ahead);

  UniqueFd socket_{};
  std::size_t slot_bytes_;
  Ends ends_;
  std::optional<FrameHeader> header_{};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::array<std::byte, staging_bytes> staging_;  // [begin_, end_) is valid
};

}  // namespace rondo::tcp
