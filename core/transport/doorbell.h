// Doorbell: how a rank that sleeps is woken by the ranks that write to its memory.
//
// There is one word in a shared page per communicator and rank. Before it sleeps the owner calls
// arm() and looks at its channels once more. A peer that commits or releases a slot calls ring(),
// which is one relaxed load while nobody sleeps.
//
// A rank that has peers in its memory only sleeps on the word itself. One that awaits sockets, too,
// sleeps in poll(). Then its doorbell is pollable: it has an eventfd, which peers are passed with
// the page.
//
// There is deliberately no full fence between a peer's slot store and that load. So a wake-up can
// be missed, and sleeps are bounded (see sleep()). In return the fast path pays nothing.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/unique_fd.h"

namespace rondo {

/// The word as it lies in shared memory, alone on its cache line.
struct alignas(64) DoorbellWord {
  /// What the owner does, or is about to do.
  enum Sleeping : std::uint32_t { awake, in_futex, in_poll };
  std::atomic<std::uint32_t> sleeping{awake};
};
static_assert(sizeof(DoorbellWord) == 64);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "shared between processes");

/// Wakes the owner; for ring() only.
void wake(DoorbellWord& word, const UniqueFd& event);

/// Wakes the owner if it sleeps. Any process or thread that maps the word. `event`: the owner's
/// eventfd; empty: it has none. It is looked at only where the owner sleeps in poll(). Relaxed: the
/// store that the owner is to see is a release of its own; a missed wake-up ends with the bounded
/// sleep.
inline void ring(DoorbellWord& word, const UniqueFd& event) {
  if (word.sleeping.load(std::memory_order_relaxed) != DoorbellWord::awake) [[unlikely]]
    wake(word, event);
}

/// The owner's side. memfd-backed, so that peers in other processes can map it.
class Doorbell {
 public:
  Doorbell();
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  /// From here on the owner can sleep on descriptors and the doorbell together. Before peers are
  /// passed it, or where only threads of this process ring. Throws Error{system}.
  void make_pollable();
  /// What to pass to peers: the memfd of one page and, if it is pollable, the eventfd.
  std::vector<int> descriptors() const;
  static constexpr std::size_t page_bytes = 4096;
  bool is_armed() const {
    return word_->sleeping.load(std::memory_order_acquire) != DoorbellWord::awake;
  }

  void arm();
  void disarm();
  /// Call between arm() and disarm(). Returns when rung, when one of the descriptors is ready, or
  /// after `longest`. Where it is not pollable, it hears either descriptors or the doorbell. May add
  /// to the descriptors.
  void sleep(std::chrono::milliseconds longest, std::vector<pollfd>& descriptors);
  /// From another thread of this process, after a sequentially consistent store that the owner looks
  /// at after arm(). Never missed.
  void interrupt() noexcept;

 private:
  UniqueFd memory_;
  UniqueFd event_{};
  DoorbellWord* word_ = nullptr;
};

/// A peer's doorbell.
class PeerDoorbell {
 public:
  /// `passed`: see Doorbell::descriptors(). Throws Error{internal} for anything else.
  explicit PeerDoorbell(std::span<UniqueFd> passed);
  ~PeerDoorbell();
  PeerDoorbell(const PeerDoorbell&) = delete;
  PeerDoorbell& operator=(const PeerDoorbell&) = delete;
  void ring() { rondo::ring(*word_, event_); }

 private:
  DoorbellWord* word_ = nullptr;
  UniqueFd event_{};
};

}  // namespace rondo
