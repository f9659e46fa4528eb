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

namespace rondo::device {

template <class Team>
class Meetings {
 public:
  RONDO_DEVICE Meetings(Team& team, const LaneView& view)
      : team_(team), view_(view), number_(load_plain(view.meetings())) {}

  /// Collective. False when the wait was ended; for all threads of the team alike.
  RONDO_DEVICE bool meet() {
    ++number_;
    team_.synchronize();  // all threads have read and written what they had to
    for (std::uint32_t peer = team_.lane(); peer < view_.sizes.arena.ranks; peer += team_.lanes()) {
      // Release: pairs with the acquire below, of the peer.
      if (peer != view_.program.rank) store_release(view_.meeting_at(peer), number_);
    }
    bool met = true;
    for (std::uint32_t peer = team_.lane(); peer < view_.sizes.arena.ranks; peer += team_.lanes()) {
      if (peer != view_.program.rank) met = wait(peer) && met;
    }
    return !team_.any(!met);
  }

  /// Keeps the count for the next call. Call it once, after the last meeting.
  RONDO_DEVICE void end() const {
    if (team_.lane() == 0) store_plain(view_.meetings(), number_);
  }

 private:
  RONDO_DEVICE bool wait(std::uint32_t peer) const {
    const std::uint64_t* const word = view_.meeting_of(peer);
    const Failure what = view_.waiting_for(Awaited::meeting, peer, DeviceOp{}, 0, number_);
    return wait_until(*view_.context.control, what, [&] { return load_acquire(word) >= number_; });
  }

  Team& team_;
  const LaneView& view_;
  std::uint64_t number_;
};

}  // namespace rondo::device
