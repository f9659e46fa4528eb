// Wire: a transport of this process's own and its channels to every peer, for code written by hand.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/floor/team.h"
#include "core/execute/backoff.h"
#include "core/transport/doorbell.h"
#include "transports/table.h"

namespace rondo::bench {

/// Every member's text, by rank. Collective. `meeting` is shared and holds meeting_bytes.
std::vector<std::string> tell_all(Member& member, SharedMemory& meeting, const std::string& mine);
inline constexpr std::size_t text_bytes = 1024;
inline constexpr std::size_t meeting_bytes = text_bytes * most_members;

/// Does only what a communicator does for the frames of its calls: adds a fingerprint to every
/// frame, checks it on the other side, polls the transport now and then, and gives up after a time.
class Wire {
 public:
  /// Collective. `meeting` as tell_all()'s. The caller sets of `settings` what matters to it, such as
  /// the communicator's number, which is unique among the wires of a transport. Frames shorter than
  /// `least_in_place` are copied even where they could go straight from or to their place.
  Wire(Member& member, SharedMemory& meeting, const std::string& transport,
       TransportSettings settings, std::size_t least_in_place = 0);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(peers_.size()); }
  std::size_t slot_bytes() const { return transport_->slot_bytes(); }

  /// Call it before a call's first frame.
  void begin_call(std::size_t count);

  /// The peer's head frame once it is there, checked to be this call's and of `bytes`.
  const Frame* peek(int peer, std::size_t bytes);
  /// A whole frame to or from a peer, in place where the channel can do that. False until all of it
  /// has gone: call it again, with the same arguments.
  bool put(int peer, const void* from, std::size_t bytes);
  bool take(int peer, void* into, std::size_t bytes);
  /// The head frame is needed no more.
  void release(int peer) { at(peer).in->release(); }

  /// Call it after a round of looking. `moved` says whether anything moved. If not, it spins, then
  /// gives way. Throws std::runtime_error after half a minute of silence.
  void after_look(bool moved) {
    if (moved) {
      backoff_.reset();
    } else {
      wait();
    }
  }
  bool progress() { return transport_->progress(); }
  /// On return everything sent is with the kernel or in shared memory.
  void drain();

 private:
  /// The channels to and from a peer; null for this rank itself.
  struct Peer {
    SendChannel* out = nullptr;
    ReceiveChannel* in = nullptr;
    bool sends_places = false;
    bool receives_places = false;
    std::size_t sent = 0;      ///< bytes of a frame that goes from its place
    std::size_t received = 0;  ///< bytes of a frame that comes into its place
  };
  Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  void wait();
  void check(std::uint64_t fingerprint, int peer) const;
  /// Counts the bytes that moved now. True when that was all, and the count is 0 again.
  bool moved(std::size_t now, std::size_t bytes, std::size_t& done);

  int rank_;
  std::size_t least_in_place_;
  Doorbell doorbell_;
  std::unique_ptr<Transport> transport_;
  std::vector<Peer> peers_;
  detail::Backoff backoff_;
  std::uint64_t sequence_ = 0;
  std::uint64_t fingerprint_ = 0;
  bool partly_ = false;  ///< part of a frame went in place since the last wait
  std::optional<std::chrono::steady_clock::time_point> silent_since_{};
};

}  // namespace rondo::bench
