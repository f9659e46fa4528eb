// Arena: the memory through which the ranks of a group reach each other.
//
// Every rank has one, all of the same shape, and reaches those of all others. A channel is what one
// rank sends to another in one stripe. The receiver's arena holds its messages:
//
//   sender's arena                     receiver's arena
//     credits[receiver]  <----------     (how many messages it has taken)
//                        ---------->   heads[sender]    how many messages lie in frames
//                        ---------->   frames[sender]   `depth` slots of frame_bytes
//                        ---------->   packets[sender]  `depth` slots of packets, flags inside
//     counters[receiver]               counters[sender] messages ever: private, kept between calls
//                        ---------->   meetings[sender] how often the sender has met (meetings.h)
//
// Message s lies in slot s mod depth. Each word has one writer. New arenas are zero.
#pragma once

#include "kernels/device/fences.h"

namespace rondo::device {

/// 4 bytes of data beside 4 bytes of flag, twice: 8 bytes of payload.
using Packet = WordPair;
inline constexpr std::size_t packet_payload = 8;

/// What threads load and store as a whole.
inline constexpr std::size_t vector_bytes = 16;

/// A flag or a counter that one rank writes and another one watches.
struct alignas(128) Word {
  std::uint64_t value = 0;
};

/// Messages since the arena was made. Only the team of the channel's stripe uses it.
struct Counters {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// The most ranks of a group.
inline constexpr std::uint32_t most_peers = 64;

/// The sizes of an arena, equal on all ranks of a group. Every number is at least 1.
struct ArenaShape {
  std::uint32_t ranks = 1;
  std::uint32_t stripes = 1;  ///< teams of a rank, each with channels of its own
  std::uint32_t packet_stripes =
      1;                          ///< the first of them, whose channels have packets and mailboxes
  std::uint32_t depth = 2;        ///< messages a channel holds
  std::uint32_t frame_bytes = 0;  ///< of a slot of the bulk protocol; a multiple of 16
  std::uint32_t packets = 0;      ///< of a slot of the low-latency protocol
  std::uint32_t mailbox = 0;      ///< packets from each rank in a mailbox of small.h, per stripe
  /// Flags repeat after so many messages: a power of two, at most 2^31. A packet that was not
  /// written for as long would seem new, so each slot is wiped every wipe_interval-th time it is
  /// used: at most flag_period / (2 * depth).
  std::uint32_t flag_period = 1u << 31;
  std::uint32_t wipe_interval = 1u << 20;
};
static_assert(sizeof(ArenaShape) == 36);

/// Where things lie in an arena, in bytes.
class ArenaPlaces {
 public:
  constexpr explicit ArenaPlaces(const ArenaShape& shape) : shape_(shape) {}

  /// The channel from or to `peer`: its number among those of its rank.
  constexpr std::size_t channel(std::uint32_t peer, std::uint32_t stripe) const {
    return std::size_t{peer} * shape_.stripes + stripe;
  }
  constexpr std::size_t channels() const { return channel(shape_.ranks, 0); }

  constexpr std::size_t head(std::size_t channel) const { return channel * sizeof(Word); }
  constexpr std::size_t credit(std::size_t channel) const { return head(channels() + channel); }
  constexpr std::size_t meeting(std::size_t channel) const {
    return head(2 * channels() + channel);
  }
  /// How often a stripe has met with the others': private, as the counters are.
  constexpr std::size_t meetings(std::uint32_t stripe) const {
    return head(3 * channels() + stripe);
  }
  /// Calls of small.h that a stripe has made.
  constexpr std::size_t small_calls(std::uint32_t stripe) const {
    return meetings(shape_.stripes + stripe);
  }
  constexpr std::size_t counters(std::size_t channel) const {
    return small_calls(shape_.packet_stripes) + channel * sizeof(Counters);
  }
  /// The slots of a channel, one after the other. `stripe` is less than packet_stripes.
  constexpr std::size_t packets(std::uint32_t peer, std::uint32_t stripe) const {
    const std::size_t before = std::size_t{peer} * shape_.packet_stripes + stripe;
    return counters(channels()) + before * shape_.depth * shape_.packets * sizeof(Packet);
  }
  /// The packets from `peer` in mailbox `box` of a stripe: two boxes for each of two phases.
  constexpr std::size_t mailbox(std::uint32_t stripe, std::uint32_t box, std::uint32_t peer) const {
    const std::size_t number = (std::size_t{stripe} * mailboxes + box) * shape_.ranks + peer;
    return packets(shape_.ranks, 0) + number * shape_.mailbox * sizeof(Packet);
  }
  /// The slots of a channel, one after the other.
  constexpr std::size_t frames(std::size_t channel) const {
    return mailbox(shape_.packet_stripes, 0, 0) + channel * shape_.depth * shape_.frame_bytes;
  }
  constexpr std::size_t bytes() const { return frames(channels()); }

  static constexpr std::uint32_t mailboxes = 4;

 private:
  ArenaShape shape_;
};

}  // namespace rondo::device
