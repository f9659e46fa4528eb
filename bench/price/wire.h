// Wire: a transport of this process's own and its channels to every peer, for code written by hand.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bench/floor/team.h"
#include "core/execute/backoff.h"
#include "core/transport/doorbell.h"
#include "transports/table.h"

namespace rondo::bench {

/// Does only what a communicator does for the frames of its calls: adds a fingerprint to every
/// frame, checks it on the other side, polls the transport now and then, and gives up after a time.
class Wire {
 public:
  /// Collective. `meeting` is shared and holds meeting_bytes. `number` is unique among the wires of
  /// a kind.
  Wire(Member& member, SharedMemory& meeting, const TransportKind& kind, std::uint64_t number);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  static constexpr std::size_t address_bytes = 1024;
  static constexpr std::size_t meeting_bytes = address_bytes * most_members;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::size_t slot_bytes() const { return transport_->slot_bytes(); }
  SendChannel& out(int peer) { return *out_[static_cast<std::size_t>(peer)]; }
  ReceiveChannel& in(int peer) { return *in_[static_cast<std::size_t>(peer)]; }

  /// Call it before a call's first frame.
  void begin_call(std::size_t count);

  /// The peer's head frame once it is there, checked to be this call's and of `bytes`.
  const Frame* peek(int peer, std::size_t bytes);
  /// These send or receive the rest of a frame straight from or to its place, on channels that can
  /// do that. True when all of it went. `moved` counts its bytes, and is 0 again at the end.
  bool send_from(int peer, std::span<const std::byte> bytes, std::size_t& moved);
  bool receive_into(int peer, std::span<std::byte> bytes, std::size_t& moved);
  void commit(int peer, std::size_t bytes) { out(peer).commit(bytes, {fingerprint_}); }

  /// Call it after a round of looking. `moved` says whether anything moved. If not, it spins, then
  /// gives way. Throws std::runtime_error after half a minute of silence.
  void after_look(bool moved) {
    if (moved) {
      backoff_.reset();
    } else {
      wait();
    }
  }
  /// On return everything sent is with the kernel or in shared memory.
  void drain();

 private:
  void wait();
  void check(std::uint64_t fingerprint, int peer) const;

  int rank_;
  int ranks_;
  Doorbell doorbell_;
  std::unique_ptr<Transport> transport_;
  std::vector<SendChannel*> out_;    ///< by peer; own entry null
  std::vector<ReceiveChannel*> in_;  ///< likewise
  detail::Backoff backoff_;
  std::uint64_t sequence_ = 0;
  std::uint64_t fingerprint_ = 0;
  bool partly_ = false;  ///< part of a frame went in place since the last wait
  std::optional<std::chrono::steady_clock::time_point> silent_since_{};
};

}  // namespace rondo::bench
