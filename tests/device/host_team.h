// A team of host threads. On a device a team is a block, whose threads must all come to the same
// barrier. A team notices where they do not: a thread that has ended, or is at another barrier.
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

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
  virtual void meet(std::uint32_t lane, bool votes, const std::source_location& site) = 0;
  /// The lane has ended.
  virtual void leave(std::uint32_t /*lane*/) {}
};

class HostMeetingPoint : public MeetingPoint {
 public:
  using Diverged = std::function<void(const std::string&)>;

  /// `diverged` is called by threads that see that others of the team are elsewhere.
  HostMeetingPoint(std::uint32_t lanes, Diverged diverged)
      : barrier_(static_cast<std::ptrdiff_t>(lanes)),
        lanes_(lanes),
        passed_(lanes),
        lines_(2 * std::size_t{lanes}),
        diverged_(std::move(diverged)) {}

  void meet(std::uint32_t lane, bool /*votes*/, const std::source_location& site) override {
    line(lane, lane).store(site.line(), std::memory_order_relaxed);
    barrier_.arrive_and_wait();
    look_for_others(lane, site.line());
    ++passed_[lane];
  }

  /// The others are not left waiting.
  void leave(std::uint32_t lane) override {
    std::uint64_t fewest = fewest_passed_.load(std::memory_order_relaxed);
    while (passed_[lane] < fewest && !fewest_passed_.compare_exchange_weak(
                                         fewest, passed_[lane], std::memory_order_relaxed)) {
    }
    barrier_.arrive_and_drop();
  }

 private:
  /// At a barrier that all have reached, or will never reach.
  void look_for_others(std::uint32_t lane, std::uint32_t here) {
    const std::uint32_t there =
        line(lane == 0 ? 0 : lane - 1, lane).load(std::memory_order_relaxed);
    if (fewest_passed_.load(std::memory_order_relaxed) <= passed_[lane]) {
      diverged_("a thread of a block has ended, and others wait at the barrier in line " +
                std::to_string(here));
    } else if (there != here) {
      diverged_("threads of a block are at the barriers in lines " + std::to_string(there) +
                " and " + std::to_string(here));
    }
  }
  /// Where `lane` came to the barrier that `reader` is at. The next but one has the same place: by
  /// then all have looked.
  std::atomic<std::uint32_t>& line(std::uint32_t lane, std::uint32_t reader) {
    return lines_[passed_[reader] % 2 * lanes_ + lane];
  }

  std::barrier<> barrier_;
  std::size_t lanes_;
  std::vector<std::uint64_t> passed_;  ///< barriers, by lane; each thread has its own
  /// By lane, for barriers of even numbers and of odd ones: the line of the barrier that the thread
  /// came to. Relaxed, like the next: written before a barrier, read after it.
  std::vector<std::atomic<std::uint32_t>> lines_;
  /// The fewest barriers that a thread has passed that has ended.
  std::atomic<std::uint64_t> fewest_passed_{~std::uint64_t{0}};
  Diverged diverged_;
};

/// Ends the process.
inline void end_diverged(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

/// What the threads of one team share.
struct HostTeamState {
  explicit HostTeamState(std::uint32_t lanes)
      : HostTeamState(lanes, std::make_unique<HostMeetingPoint>(lanes, end_diverged)) {}
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
  ~HostTeam() { state_.meeting->leave(lane_); }
  HostTeam(const HostTeam&) = delete;
  HostTeam& operator=(const HostTeam&) = delete;

  std::uint32_t lane() const { return lane_; }
  std::uint32_t lanes() const { return state_.size; }
  TeamMemory& memory() { return state_.memory; }
  void synchronize(const Site& site = Site::current()) { state_.meeting->meet(lane_, false, site); }

  /// Vote n is cleared before barrier n - 1, which everybody passes after reading vote n - 3.
  /// Relaxed: the barrier orders what is voted before it and read after it.
  bool any(bool value, const Site& site = Site::current()) {
    if (lane_ == 0) vote(round_ + 1).store(false, std::memory_order_relaxed);
    if (value) vote(round_).store(true, std::memory_order_relaxed);
    state_.meeting->meet(lane_, true, site);
    return vote(round_++).load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool>& vote(std::uint64_t round) { return state_.votes[round % 3]; }

  HostTeamState& state_;
  std::uint32_t lane_;
  std::uint64_t round_ = 0;
};

}  // namespace rondo::device::test
