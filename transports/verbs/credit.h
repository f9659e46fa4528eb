// Credit: how many frames of a channel the receiver has released, as far as its sender knows.
//
// The immediate number of every send between two ranks in one lane says how many frames of the
// opposite channel have been released. Where frames go both ways, credits cost nothing.
#pragma once

#include <cstdint>

namespace rondo::verbs {

/// One rank's credits with one peer in one lane, in frames modulo 2^32. Not thread-safe.
struct Credit {
  std::uint32_t released = 0;  ///< of the peer's frames: slots that may be filled again
  std::uint32_t told = 0;      ///< of these, what the peer has been told
  std::uint32_t granted = 0;   ///< of this rank's frames, as the peer told

  std::uint32_t untold() const { return released - told; }
  /// Queue pairs overtake each other, so a late message may carry an older number.
  void grant(std::uint32_t frames) {
    if (static_cast<std::int32_t>(frames - granted) > 0) granted = frames;
  }
};

}  // namespace rondo::verbs
