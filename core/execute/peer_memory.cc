#include "core/execute/peer_memory.h"

#include <algorithm>
#include <utility>

namespace rondo::detail {

PeerMemory::PeerMemory(int rank, int ranks, DirectAccess& access)
    : rank_(rank), access_(access), peers_(static_cast<std::size_t>(ranks)) {}

const Announcement& PeerMemory::announce(const SharedPart& part, const SharedPart& windows,
                                         const void* input, const void* output) {
  const std::size_t in = part.input_bytes(rank_);
  const std::size_t out = part.output_bytes(rank_);
  Announcement& mine = at(rank_).told;
  mine = {};
  if (in > 0) mine.input = access_.expose(input, in);
  if (out > 0) mine.output = access_.expose(output, out);
  if (mine.input.window != 0) access_.offer(mine.input, windows.users);
  if (mine.output.window != 0 && windows.reaches_outputs())
    access_.offer(mine.output, windows.users);
  mine.windows_freed = access_.windows_freed();
  const bool in_windows =
      (in == 0 || mine.input.window != 0) && (out == 0 || mine.output.window != 0);
  mine.in_windows = in_windows ? 1 : 0;
  return mine;
}

bool PeerMemory::all_in_windows() const {
  return std::ranges::all_of(peers_, [](const Peer& peer) { return peer.told.in_windows != 0; });
}

bool PeerMemory::reach(std::int32_t peer, const SharedPart& part) {
  Peer& reached = at(peer);
  const std::uint64_t freed = reached.told.windows_freed;
  if (std::exchange(reached.windows_freed, freed) != freed) access_.forget(peer);
  if (std::ranges::count(part.awaited, peer) == 0) return true;
  bool waiting = false;
  reached.input = map(peer, reached.told.input, part.input_bytes(peer), waiting);
  reached.output = part.reaches_outputs()
                       ? map(peer, reached.told.output, part.output_bytes(peer), waiting)
                       : nullptr;
  return !waiting;
}

std::byte* PeerMemory::map(std::int32_t peer, const Exposed& place, std::size_t bytes,
                           bool& waiting) {
  if (bytes == 0 || place.window == 0) return nullptr;
  std::byte* const base = access_.map(peer, place, bytes);
  waiting |= base == nullptr;
  return base;
}

}  // namespace rondo::detail
