// Meetings: where ranks reach each other's windows, their teams of one stripe meet before the first
// stage of a merged program, between stages, and after the last one:
//
//   every rank   begun | stage 0 | stage 1 | ended
//                      ^         ^         ^
//                  peers' inputs and outputs are theirs again only after the last meeting
//
// A team counts its meetings, and tells each peer the count. So the words only grow, and a captured
// launch can be replayed. A stripe of a chunk is made and read by teams of that stripe alone.
//
// Cost: one trip, and a fence for what the team has written before.
#pragma once

#include "kernels/device/lane_view.h"
#include "kernels/device/team.h"

namespace rondo::device {

/// Collective. False when the wait was ended; for all threads of the team alike. It is out of line, with
/// registers of its own.
template <class Team>
[[gnu::noinline]] RONDO_DEVICE bool meet(Team& team, const LaneView& view) {
  const std::uint32_t ranks = view.sizes.arena.ranks;
  const std::uint64_t number = load_plain(view.meetings()) + 1;
  team.synchronize();  // all threads have read and written what they had to, and know the number
  if (team.lane() == 0) store_plain(view.meetings(), number);
  for (std::uint32_t peer = team.lane(); peer < ranks; peer += team.lanes()) {
    std::uint64_t* const word = view.meeting_at(peer);
    // Release: pairs with the acquire below, of the peer. The own word is nobody's.
    store_release(word, number);
  }
  bool met = true;
  for (std::uint32_t peer = team.lane(); peer < ranks; peer += team.lanes()) {
    const std::uint64_t* const word = view.meeting_of(peer);
    const Failure what = view.waiting_for(Awaited::meeting, peer, DeviceOp{}, 0, number);
    met = wait_until(*view.context.control, what, [&] { return load_acquire(word) >= number; }) &&
          met;
  }
  return !team.any(!met);
}

}  // namespace rondo::device
