// One-sided calls between devices: puts into windows of peers, and signals. Model: one_sided.pml.
//
//   writer's stream                                  peer's stream
//   copies into the peer's window (windows.h)
//   writes how many signals it has given: a counter  waits until the counter has come so far
//
// - The counter is written after the copy in the same stream, by a write that follows a system-wide
//   fence. So who sees the signal sees the bytes.
// - A rank's calls run in their order. So a counter only grows, and a wait takes the signals that no
//   earlier wait has taken.
// - Counters have 32 bits and wrap. So fewer than 2^31 signals may be given and not awaited.
// - A replayed graph would write and await the numbers of its capture again. So none is captured.
#pragma once

#include <cstddef>
#include <vector>

#include "core/direct_device/flag_segment.h"

namespace rondo::direct_device {

/// Bytes into a peer's window, and then a signal.
struct Put {
  int peer = 0;
  int signal = 0;
  WindowPlace to{};
  const void* source = nullptr;
  std::size_t bytes = 0;  ///< 0: there is only the signal
};

/// For so many more signals of a peer.
struct SignalWait {
  int peer = 0;
  int signal = 0;
  std::uint32_t count = 0;
};

/// What a rank's calls have given to each peer and awaited of it, as counters count.
class SignalCounts {
 public:
  explicit SignalCounts(int ranks)
      : given_(static_cast<std::size_t>(ranks * counters)), awaited_(given_.size()) {}

  std::uint32_t& given(int peer, int signal) { return given_[place(peer, signal)]; }
  std::uint32_t& awaited(int peer, int signal) { return awaited_[place(peer, signal)]; }

 private:
  static std::size_t place(int peer, int signal) {
    return static_cast<std::size_t>(peer * counters + signal);
  }

  std::vector<std::uint32_t> given_;
  std::vector<std::uint32_t> awaited_;
};

}  // namespace rondo::direct_device
