// PeerMemory: where the buffers of the call under way lie on each rank, and in this one's memory
// where they are in windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/execute/control_block.h"
#include "core/plan/shared.h"
#include "core/transport/direct_access.h"

namespace rondo::detail {

/// Not thread-safe. Throws what `access` throws.
class PeerMemory {
 public:
  /// `access` outlives it.
  PeerMemory(int rank, int ranks, DirectAccess& access);

  /// What this rank tells of its buffers. `windows`: the program for windows, whose users they are
  /// offered to.
  const Announcement& announce(const SharedPart& part, const SharedPart& windows, const void* input,
                               const void* output);
  void hear(std::int32_t rank, const Announcement& announcement) { at(rank).told = announcement; }
  bool in_windows(std::int32_t rank) const { return at(rank).told.in_windows != 0; }
  bool all_in_windows() const;
  /// Maps what the part touches of the peer. False: not there yet.
  bool reach(std::int32_t peer, const SharedPart& part);

  /// A peer's buffer in this process.
  std::byte* output(std::int32_t peer) const { return at(peer).output; }
  std::byte* buffer(std::int32_t peer, Buffer buffer) const {
    return buffer == Buffer::output ? at(peer).output : at(peer).input;
  }

 private:
  struct Peer {
    Announcement told{};
    std::uint64_t windows_freed = 0;  ///< that this rank has unmapped
    std::byte* input = nullptr;
    std::byte* output = nullptr;
  };
  std::byte* map(std::int32_t peer, const Exposed& place, std::size_t bytes, bool& waiting);
  Peer& at(std::int32_t rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& at(std::int32_t rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  int rank_;
  DirectAccess& access_;
  std::vector<Peer> peers_;  ///< by rank; this one's own included
};

}  // namespace rondo::detail
