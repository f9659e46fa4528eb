// Direct access: reaching the memory of ranks on the same machine without messages.
//
//   board      the control block: pages that every rank maps, with flags and small payloads
//   window     memory from rondo::allocate(): peers map it, then read and write it like their own
//
// Transports whose ranks share a machine offer it (Transport::direct_access()). As with channels,
// nothing blocks: what is not there yet is null, and Transport::progress() brings it. One thread at
// a time per object. Failures throw rondo::Error naming the peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace rondo {

/// Memory of a rank as its peers may name it. Trivially copyable: it lies in the control block.
struct Exposed {
  std::uint64_t address = 0;  ///< in the owner's address space
  std::uint64_t window = 0;   ///< number of the window it lies in; 0: ordinary memory
};
static_assert(sizeof(Exposed) == 16 && std::is_trivially_copyable_v<Exposed>);

class DirectAccess {
 public:
  virtual ~DirectAccess() = default;

  /// The communicator's control block, zero-filled when new, 4096-byte aligned; null until it is
  /// there. Every rank passes the same `bytes` each time. Throws Error{out_of_memory}.
  virtual std::byte* board(std::size_t bytes) = 0;
  /// Throws Error{peer_lost} once the peer is known to have left. What it wrote to the control
  /// block before can be read. For ranks that wait for the peer: a peer that has done its part may
  /// leave.
  virtual void check(int peer) = 0;

  /// How peers name `bytes` of this rank's memory. In a window only where all of it lies in one.
  virtual Exposed expose(const void* memory, std::size_t bytes) const = 0;
  /// Sends `peers` what their map() needs, once for each window: they are about to hear of the
  /// place and to touch it. Where that cannot be sent now, map() asks for it.
  virtual void offer(const Exposed& place, std::span<const std::int32_t> peers) = 0;
  /// Number of windows of this process freed so far. Tells peers that may have them mapped which
  /// ones. Peers that see the number change call forget().
  virtual std::uint64_t windows_freed() = 0;

  /// Where a peer's window memory lies in this process; null until it is mapped. Call it once
  /// board() is there, with a `place.window` other than 0. Throws Error{invalid_argument} when the
  /// peer has no such window or it is too short.
  virtual std::byte* map(int peer, const Exposed& place, std::size_t bytes) = 0;
  /// Unmaps those of a peer's windows that it has freed. Numbers are never used again, so what
  /// stays mapped a while longer holds memory and does no harm.
  virtual void forget(int peer) = 0;

  /// Rings the peer's doorbell, if it sleeps: something in the control block has changed.
  virtual void wake(int peer) = 0;
};

}  // namespace rondo
