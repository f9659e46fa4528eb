// A team of host threads. On a device a team is a block.
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>

#include "kernels/device/team.h"

namespace rondo::device::test {

/// What the threads of one team share.
struct HostTeamState {
  explicit HostTeamState(std::uint32_t lanes)
      : barrier(static_cast<std::ptrdiff_t>(lanes)), size(lanes) {}
  std::barrier<> barrier;
  std::uint32_t size;
  std::array<std::atomic<bool>, 3> votes{};
  TeamMemory memory{};
};

class HostTeam {
 public:
  HostTeam(HostTeamState& state, std::uint32_t lane) : state_(state), lane_(lane) {}

  std::uint32_t lane() const { return lane_; }
  std::uint32_t lanes() const { return state_.size; }
  TeamMemory& memory() { return state_.memory; }
  void synchronize() { state_.barrier.arrive_and_wait(); }

  /// Vote n is cleared before barrier n - 1, which everybody passes after reading vote n - 3.
  /// Relaxed: the barrier orders what is voted before it and read after it.
  bool any(bool value) {
    if (lane_ == 0) vote(round_ + 1).store(false, std::memory_order_relaxed);
    if (value) vote(round_).store(true, std::memory_order_relaxed);
    synchronize();
    return vote(round_++).load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool>& vote(std::uint64_t round) { return state_.votes[round % 3]; }

  HostTeamState& state_;
  std::uint32_t lane_;
  std::uint64_t round_ = 0;
};

}  // namespace rondo::device::test
