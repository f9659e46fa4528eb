// The contract between executors and transports.
//
// A channel is one direction between one pair of ranks in one lane. It carries frames in order; a
// frame is a tag and 0 to slot_bytes() payload bytes. Messages longer than a slot travel as several
// frames; frames never span messages.
//
// Rules for every implementation (tests/transports checks them all):
// - Nothing blocks. An empty result says that it cannot be done now; progress() moves the rest.
// - A channel is usable from the moment sender()/receiver() returns it. Until the peer is connected
//   acquire() is empty and peek() is null.
// - At least `depth() >= 2` frames can be committed before the peer releases one. Over a wire that
//   holds for those of send_from() too: rings of ranks all send before they receive.
// - One thread at a time per transport object (executors hold the progress lock).
// - A failure (peer gone, protocol broken) throws rondo::Error naming the peer, from whichever call
//   on the channel meets it, and from every later call on that channel.
// - Frames that arrived before a peer left are still delivered: peek() throws only once they are
//   used up.
// - progress() keeps the failures of channels for the channels' own calls, since a peer may leave
//   when it is done. What progress() itself throws (no file descriptors left) concerns the whole
//   transport.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/address_family.h"
#include "core/base/config_infiniband.h"
#include "core/base/secret.h"
#include "core/topology/topology.h"
#include "core/transport/host.h"

namespace rondo {

/// What goes along with a frame's payload, for executors: transports only carry it.
struct FrameTag {
  std::uint64_t fingerprint = 0;  ///< of the call that the frame belongs to
  /// Of the payload, crc32c(). Arrives where TransportSettings::checksum is set; else 0 may.
  std::uint32_t checksum = 0;

  friend bool operator==(const FrameTag&, const FrameTag&) = default;
};

/// The head of a channel's queue. Valid until release().
struct Frame {
  FrameTag tag{};
  std::span<const std::byte> payload{};
};

/// What is known of a frame before its payload.
struct FrameHead {
  FrameTag tag{};
  std::size_t bytes = 0;
};

class SendChannel {
 public:
  virtual ~SendChannel() = default;

  /// Memory of the next free slot (slot_bytes() long, 64-byte aligned), or empty when none is free.
  /// Repeated calls without commit() return the same slot.
  virtual std::span<std::byte> acquire() = 0;
  /// Sends the acquired slot's first `bytes` as one frame.
  virtual void commit(std::size_t bytes, FrameTag tag) = 0;

  /// Optional, declared by sends_from_place(): sends straight from the caller's memory. Takes a
  /// prefix of `bytes`, returns its length (0: try again later). The caller passes the rest, at
  /// the same addresses, in later calls before anything else is sent on this channel. All parts
  /// make one frame of 1 to slot_bytes() bytes, with the tag of the first; an empty frame goes by
  /// commit().
  virtual bool sends_from_place() const { return false; }
  virtual std::size_t send_from(std::span<const std::byte> bytes, FrameTag tag);
  /// Memory that send_from() took may still be read after it. The caller leaves it unchanged until
  /// handed_over(), or the transport's flushed(), is true.
  virtual bool holds_places() const { return false; }
  /// True when nothing committed waits for progress(), and no memory that send_from() took is still
  /// to be read.
  virtual bool handed_over() const { return flushed(); }

  /// True when everything committed has reached memory or a kernel that outlives this process's
  /// use.
  virtual bool flushed() const = 0;
};

class ReceiveChannel {
 public:
  virtual ~ReceiveChannel() = default;

  /// The head frame once it has arrived whole, else null. Repeated calls return the same frame.
  /// Payloads longer than 40 bytes are 64-byte aligned, shorter ones 8-byte aligned.
  virtual const Frame* peek() = 0;
  /// Frees the head frame's slot for the sender.
  virtual void release() = 0;

  /// Optional, declared by receives_into_place(): the head frame's payload goes straight to its
  /// destination. frame_head() is set once the head frame's header has arrived; receive_into()
  /// fills a prefix of `destination` from that frame and returns its length (0: try again later).
  /// A frame that was begun by receive_into() is finished by it; a finished frame is released.
  /// An empty frame is taken by peek() and release().
  virtual bool receives_into_place() const { return false; }
  virtual std::optional<FrameHead> frame_head();
  virtual std::size_t receive_into(std::span<std::byte> destination);
};

/// One communicator's use of one kind of link. A resource: neither copied nor moved.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  virtual LinkClass link_class() const { return LinkClass::memory; }
  /// Looking for a frame enters the kernel, which a waiting rank reckons with.
  virtual bool looks_are_system_calls() const { return false; }
  /// The host's ports that this rank's messages may leave by. Beside names, only speeds count.
  virtual std::vector<Port> ports() const { return {}; }
  /// What peers need to know to connect. Exchanged once among all ranks, before first use.
  virtual std::string address() const = 0;
  /// addresses[rank]; this rank's own included.
  virtual void meet(std::vector<std::string> addresses) = 0;

  /// Created at first use, owned by the transport, connected in the background by progress().
  virtual SendChannel& sender(int peer, int lane) = 0;
  virtual ReceiveChannel& receiver(int peer, int lane) = 0;

  virtual std::size_t slot_bytes() const = 0;
  /// Bytes that go along with the payload of each frame.
  virtual std::size_t frame_header_bytes() const = 0;
  virtual int depth() const = 0;
  /// The same for frames of at most so many bytes, of which more may have room.
  virtual int depth_of(std::size_t frame_bytes) const;

  /// Accepts connections, finishes handshakes, flushes writes. True when something moved.
  virtual bool progress() = 0;
  /// The part of progress() that a wire waits for: writes that were begun go on. Costs next to
  /// nothing where there are none. True when something moved.
  virtual bool write_on() { return false; }
  /// True when every sender is handed_over().
  virtual bool flushed() const { return true; }
  /// Tells peers now what they may wait for and what would otherwise be put off until progress()
  /// finds time: that frames which left from place have been released. For ranks that have received
  /// all that they are to receive, and may not call again for long.
  virtual void settle() {}
  /// Descriptors whose readiness means progress() or a channel may move. A transport that rings
  /// the doorbell instead adds nothing.
  virtual void add_descriptors(std::vector<pollfd>& descriptors) const;

  /// Optional: reaching peers' memory without messages. Null where there is no such way. Owned by
  /// the transport; of use after meet(). Its connections are made by progress(), as channels' are.
  virtual class DirectAccess* direct_access() { return nullptr; }
};

/// What a transport is made from. `doorbell` outlives the transport.
class Doorbell;
struct TransportSettings {
  int rank = 0;
  int ranks = 1;
  int on_host = 0;                             ///< most ranks of one host; 0: all may be on one
  int index_on_host = 0;                       ///< the rank's number among those of its host
  std::uint64_t communicator = 0;              ///< the same on all ranks, unique within the job
  Secret secret{};                             ///< of the job: tells its ranks from strangers
  std::size_t slot_bytes = 0;                  ///< 0: the transport's own default, see below
  int sockets = 1;                             ///< tcp: sockets per pair of ranks and lane
  bool checksum = false;                       ///< FrameTag::checksum is used; equal on all ranks
  std::chrono::milliseconds timeout{300'000};  ///< RONDO_TIMEOUT: connections come about sooner
  std::string interface {};  ///< tcp: NCCL_SOCKET_IFNAME's syntax; empty: automatic
  AddressFamily family = AddressFamily::any;  ///< tcp: of the interface's addresses
  InfinibandConfig infiniband{};  ///< verbs: RONDO_IB_*; verbs::make_settings() checks the rest
  Doorbell* doorbell = nullptr;
  /// Ranks that live in this process share it; the local transport meets its peers here.
  std::shared_ptr<class LocalExchange> local{};
};

/// The longest slot that ranks agree on. Slots are allocated in full, eight to a channel. Larger
/// ones gain nothing, and there may be no memory for them.
inline constexpr std::size_t largest_slot_bytes = std::size_t{1} << 20;

/// Most memory that all channels of a communicator may take on one rank, and between two ranks.
inline constexpr std::size_t rank_channel_limit = std::size_t{256} << 20;
inline constexpr std::size_t peer_channel_limit = std::size_t{8} << 20;

/// The slot size a transport takes when settings do not say: `preferred`, halved until the limits
/// above hold, and never under 4 KiB. A pure function, so all ranks agree. `slots` is the number of
/// slots one rank pair uses in one lane, both directions together. It counts one lane to every
/// peer and eight lanes to each of 2 ceil(log2 ranks) neighbours. With 16 slots (shm) the floor
/// holds the rank limit up to about 3800 ranks on one machine.
std::size_t default_slot_bytes(int ranks, std::size_t preferred, std::size_t slots);

/// The slot size of a transport: settings.slot_bytes rounded up to whole cache lines, or the
/// default.
std::size_t choose_slot_bytes(const TransportSettings& settings, std::size_t preferred,
                              std::size_t slots);
/// The same for a transport that reaches the ranks of its host alone.
std::size_t choose_slot_bytes_on_host(TransportSettings settings, std::size_t preferred,
                                      std::size_t slots);

}  // namespace rondo
