// A group of ranks whose teams are host threads: arenas, images and memory as on a device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/device/arena.h"
#include "kernels/device/lane_view.h"
#include "tests/device/host_team.h"

namespace rondo::device::test {

/// Memory as aligned as a device's.
struct alignas(128) Line {
  std::array<std::byte, 128> bytes{};
};

/// The arenas of a group, at first all zero, and what every rank's teams share.
class HostGroup {
 public:
  explicit HostGroup(const ArenaShape& shape);
  HostGroup(const HostGroup&) = delete;
  HostGroup& operator=(const HostGroup&) = delete;

  const ArenaShape& shape() const { return shape_; }
  Control& control(int rank) { return controls_[static_cast<std::size_t>(rank)]; }
  std::byte* const* arenas() const { return places_.data(); }
  RankContext context(int rank) {
    RankContext made;
    made.arenas = arenas();
    made.control = &control(rank);
    return made;
  }

 private:
  ArenaShape shape_;
  std::vector<std::vector<Line>> memory_;  ///< by rank
  std::vector<std::byte*> places_;
  std::vector<Control> controls_;
};

/// Runs `work(team, number)` for teams 0 to teams - 1 of `threads` threads each, all at the same
/// time, and returns when all have ended. `meanwhile` runs on the caller's thread.
void run_teams(
    std::uint32_t teams, std::uint32_t threads,
    const std::function<void(HostTeam&, std::uint32_t)>& work,
    const std::function<void()>& meanwhile = [] {});

/// run_teams(), or another way to run as many.
using RunTeams =
    std::function<void(std::uint32_t teams, std::uint32_t threads,
                       const std::function<void(HostTeam&, std::uint32_t number)>& work)>;
inline void run_on_host(std::uint32_t teams, std::uint32_t threads,
                        const std::function<void(HostTeam&, std::uint32_t)>& work) {
  run_teams(teams, threads, work);
}

}  // namespace rondo::device::test
