// Channels over queue pairs, and what both ends have in common. The receiver owns a ring of slots,
// and the sender owns a ring of as many.
//
//   sender                                         receiver
//   slot n mod slots, filled by the caller
//   send on queue pair n mod (queue pairs)    ->   the receive posted there for frame n: its slot
//   or, if it is short, a write into          ->   line n mod slots; uses up that receive as well
//                                                  peek(), release()
//   credit: frames up to m are released       <-   with every frame of the opposite channel, or
//                                                  by itself every few releases
//
// Frame n (from 0) may be sent while n < credit + slots, so there is always a receive for it. A
// slot of the sender's is used again for frame n + slots, which the credit for frame n permits:
// that frame has then left. Credits come late, so depth() promises fewer frames than there are
// slots.
//
// The same credit gives the caller back the memory that frame n was sent from. No completion is
// requested. The frame has then arrived whole. If its acknowledgement is lost, the sender's device
// reads the memory again and repeats the frame. The receiver's device acknowledges the duplicate
// and ignores its bytes (InfiniBand Architecture Specification, volume 1, C9-105: only reads and
// atomics are done again). So other bytes may lie there by then, but the device must still know the
// memory: see RegionCache.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/transport/transport.h"
#include "transports/verbs/endpoint.h"
#include "transports/verbs/handshake.h"
#include "transports/verbs/open_ports.h"
#include "transports/verbs/regions.h"

namespace rondo::verbs {

/// How a frame travels.
enum class Travel : std::uint8_t {
  staged,     ///< header and payload from slot to slot
  zero_copy,  ///< sent from the caller's memory, which is in use until the credit comes
  line        ///< written into a line
};

/// The last word of a header: the payload's bytes, the frame's number in its channel modulo 2^9,
/// which is a check, and how it travels.
class FrameTail {
 public:
  FrameTail() = default;
  FrameTail(std::size_t bytes, std::uint64_t number, Travel travel)
      : word_(static_cast<std::uint32_t>(bytes) | of_frame(number, travel)) {}

  std::size_t bytes() const { return word_ & most_bytes; }
  Travel travel() const { return static_cast<Travel>(word_ >> travel_shift); }
  /// Whether it is of this frame, whatever its length.
  bool is_of(std::uint64_t number, Travel travel) const {
    return (word_ & ~most_bytes) == of_frame(number, travel);
  }

 private:
  static constexpr std::uint32_t most_bytes = (1U << 21) - 1;
  static constexpr int number_shift = 21;
  static constexpr int travel_shift = 30;
  static_assert(largest_slot_bytes <= most_bytes);

  /// Never 0 for frames in lines.
  static constexpr std::uint32_t of_frame(std::uint64_t number, Travel travel) {
    return static_cast<std::uint32_t>(number & 0x1ff) << number_shift |
           static_cast<std::uint32_t>(travel) << travel_shift;
  }

  std::uint32_t word_ = 0;
};

/// It precedes each frame's payload in both rings, and follows it in a line.
struct FrameHeader {
  std::uint64_t fingerprint = 0;
  std::uint32_t checksum = 0;
  FrameTail tail{};
};
static_assert(sizeof(FrameHeader) == 16 && std::is_trivially_copyable_v<FrameHeader>);

/// Sizes of the rings. A header lies right before its payload, which starts a cache line.
struct Slots {
  static constexpr std::size_t payload_offset = 64;
  static constexpr std::size_t header_offset = payload_offset - sizeof(FrameHeader);
  std::uint32_t count = 0;  ///< a power of two
  std::size_t bytes = 0;    ///< of a payload

  std::size_t stride() const { return payload_offset + bytes; }
  /// Which one a frame takes.
  std::size_t of(std::uint64_t frame) const { return frame & (count - 1); }
  /// After so many releases the receiver sends a credit by itself. Each costs a packet, and half of
  /// the slots are enough to keep a wire busy meanwhile.
  std::uint32_t credit_step() const { return count / 2; }
  /// One release may wait for the next before its slot is given back.
  std::uint32_t depth() const { return count - credit_step(); }
};

/// A short frame fills the end of a cache line: the payload, then the header. The receiver polls
/// the last word of the header, which shows that all is there. This relies on devices that write
/// the bytes of one packet within a line in order of addresses or at once, as they do to memory
/// without relaxed ordering. The receiver clears that word before it gives the line back. The
/// completion of the frame comes while the frame is already in use. It carries the credit and wakes
/// a rank that sleeps.
struct Line {
  static constexpr std::size_t bytes = 64;
  static constexpr std::size_t header_offset = bytes - sizeof(FrameHeader);
  static constexpr std::size_t tail_offset = bytes - sizeof(FrameTail);
  static constexpr std::size_t longest_payload = 40;  ///< longer ones are 64-byte aligned

  static constexpr std::size_t payload_offset(std::size_t payload) {
    return header_offset - (payload + 7) / 8 * 8;
  }
};
static_assert(offsetof(FrameHeader, tail) == 12);

class VerbsSendChannel;
class VerbsReceiveChannel;

/// The channels of one transport that have credits outstanding, each once.
struct Outstanding {
  std::vector<VerbsSendChannel*> zero_copy{};   ///< callers' memory may still be in use
  std::vector<VerbsReceiveChannel*> credits{};  ///< may still have to report released frames

  template <class Channel>
  static void enlist(std::vector<Channel*>& list, Channel* channel) {
    if (std::ranges::find(list, channel) == list.end()) list.push_back(channel);
  }
};

/// What both ends have in common.
struct Edge {
  int rank = 0;
  int peer = 0;
  int lane = 0;
  Slots slots{};
  OpenPorts& ports;
  Credit& credit;  ///< of both directions
  Outstanding& outstanding;
};

/// What both directions share: how a channel connects to its other end, and how it ends.
class ChannelEnd {
 public:
  ChannelEnd(const ChannelEnd&) = delete;
  ChannelEnd& operator=(const ChannelEnd&) = delete;

  bool is_open() const { return open_; }
  bool failed() const { return failure_.has_value(); }
  /// The first failure stays.
  void fail(const Error& error);
  /// The TCP connection of the channel is there.
  bool met() const { return met_; }
  /// Its descriptor; -1 before and after.
  int descriptor() const { return handshake_.descriptor(); }
  /// Reads handshake messages. Keeps a failure for the channel's own calls. True when one came.
  bool read_handshake();
  /// A port has failed, or one queue pair on it where `pair` is not null.
  void fail_on(const OpenPort& port, const ibv_qp* pair, const Error& error);
  /// Reports, once, that a queue pair has failed although the peer is still there, so that frames
  /// on their way are lost. The channel has then failed. Null: nothing is wrong, or it was
  /// reported.
  const Error* find_break();

 protected:
  explicit ChannelEnd(const Edge& edge) : edge_(edge) {}
  ~ChannelEnd() = default;

  virtual void take(const HandshakeMessage& message) = 0;
  virtual void peer_left(const HandshakeMessage& goodbye) = 0;
  void add_endpoint(OpenPort& port, Endpoint::Capacity capacity);
  void register_slots();
  std::byte* slot(std::uint64_t frame) const {
    return memory_.data() + edge_.slots.of(frame) * edge_.slots.stride();
  }
  Piece piece(const Endpoint& endpoint, std::uint64_t frame, std::size_t payload) const;
  Endpoint& endpoint_of(std::uint64_t frame) const {
    // A division takes longer than all else that leads to a frame.
    return *endpoints_[endpoints_.size() == 1 ? 0 : frame % endpoints_.size()];
  }
  std::vector<EndpointAddress> addresses() const;
  /// Throws the channel's failure, or that of a queue pair.
  void throw_failure() const;
  void say_goodbye(std::uint64_t frames) noexcept;
  Error error(ErrorCode code, std::string message, std::string remedy) const;
  Error left() const;

  Edge edge_;
  bool met_ = false;
  bool open_ = false;
  Handshake handshake_{};
  RegisteredMemory memory_{};
  std::vector<std::unique_ptr<Endpoint>> endpoints_{};  // go before the memory
  std::optional<Error> failure_{};
};

}  // namespace rondo::verbs
