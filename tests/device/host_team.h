// A team of host threads. On a device a team is a block.
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>

#include "kernels/device/team.h"

namespace rondo::device::test {

/// Where the threads of a team meet.
class MeetingPoint {
 public:
  MeetingPoint() = default;
  virtual ~MeetingPoint() = default;
  MeetingPoint(const MeetingPoint&) = delete;
  MeetingPoint& operator=(const MeetingPoint&) = delete;
  /// `votes`: the meeting is a vote's. `site` is in the code of the team.
  virtual void meet(bool votes, const std::source_location& site) = 0;
};

class HostMeetingPoint : public MeetingPoint {
 public:
  explicit HostMeetingPoint(std::uint32_t lanes) : barrier_(static_cast<std::ptrdiff_t>(lanes)) {}
  void meet(bool, const std::source_location&) override { barrier_.arrive_and_wait(); }

 private:
  std::barrier<> barrier_;
};

/// What the threads of one team share.
struct HostTeamState {
  explicit HostTeamState(std::uint32_t lanes)
      : HostTeamState(lanes, std::make_unique<HostMeetingPoint>(lanes)) {}
  HostTeamState(std::uint32_t lanes, std::unique_ptr<MeetingPoint> meeting_point)
      : meeting(std::move(meeting_point)), size(lanes) {}
  std::unique_ptr<MeetingPoint> meeting;
  std::uint32_t size;
  std::array<std::atomic<bool>, 3> votes{};
  TeamMemory memory{};
};

class HostTeam {
 public:
  using Site = std::source_location;

  HostTeam(HostTeamState& state, std::uint32_t lane) : state_(state), lane_(lane) {}

  std::uint32_t lane() const { return lane_; }
  std::uint32_t lanes() const { return state_.size; }
  TeamMemory& memory() { return state_.memory; }
  void synchronize(const Site& site = Site::current()) { state_.meeting->meet(false, site); }

  /// Vote n is cleared before barrier n - 1, which everybody passes after reading vote n - 3.
  /// Relaxed: the barrier orders what is voted before it and read after it.
  bool any(bool value, const Site& site = Site::current()) {
    if (lane_ == 0) vote(round_ + 1).store(false, std::memory_order_relaxed);
    if (value) vote(round_).store(true, std::memory_order_relaxed);
    state_.meeting->meet(true, site);
    return vote(round_++).load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool>& vote(std::uint64_t round) { return state_.votes[round % 3]; }

  HostTeamState& state_;
  std::uint32_t lane_;
  std::uint64_t round_ = 0;
};

}  // namespace rondo::device::test
