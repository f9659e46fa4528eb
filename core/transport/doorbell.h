// Doorbell: how a rank that sleeps is woken by the ranks that write to its memory.
//
// There is one word in a shared page per communicator and rank. Before it sleeps the owner calls
// arm() and looks at its channels once more. A peer that commits or releases a slot calls ring(),
// which is one relaxed load while nobody sleeps.
//
// There is deliberately no full fence between a peer's slot store and that load. So a wake-up can
// be missed, and sleeps are bounded (see sleep()). In return the fast path pays nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/unique_fd.h"

namespace rondo {

/// The word as it lies in shared memory, alone on its cache line.
struct alignas(64) DoorbellWord {
  std::atomic<std::uint32_t> sleeping{0};  ///< 1: the owner is in, or about to enter, a futex wait
};
static_assert(sizeof(DoorbellWord) == 64);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "shared between processes");

/// Wakes the owner; for ring() only.
void wake(DoorbellWord& word);

/// Wakes the owner if it sleeps. Any process or thread that maps the word. Relaxed: the store that
/// the owner is to see is a release of its own; a missed wake-up ends with the bounded sleep.
inline void ring(DoorbellWord& word) {
  if (word.sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake(word);
}

/// The owner's side. memfd-backed, so that peers in other processes can map it.
class Doorbell {
 public:
  Doorbell();
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  DoorbellWord& word() { return *word_; }
  /// The memfd to pass to peers; one page.
  int descriptor() const { return memory_.get(); }
  static constexpr std::size_t page_bytes = 4096;

  void arm();
  void disarm();
  /// Call between arm() and disarm(). Returns when rung or after `longest`.
  void sleep(std::chrono::microseconds longest);

 private:
  UniqueFd memory_;
  DoorbellWord* word_ = nullptr;
};

/// A peer's doorbell, mapped from the descriptor that it passed.
class PeerDoorbell {
 public:
  explicit PeerDoorbell(UniqueFd memory);
  ~PeerDoorbell();
  PeerDoorbell(const PeerDoorbell&) = delete;
  PeerDoorbell& operator=(const PeerDoorbell&) = delete;
  DoorbellWord& word() { return *word_; }

 private:
  DoorbellWord* word_ = nullptr;
};

}  // namespace rondo
