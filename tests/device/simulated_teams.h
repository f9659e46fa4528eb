// Teams whose threads are fibers of a simulation: they take turns on the caller's thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tests/device/fibers.h"
#include "tests/device/host_team.h"
#include "tests/device/simulated.h"

namespace rondo::device::test {

/// A simulation that runs teams. The threads of team t are fibers t * threads and those after it.
class SimulatedTeams : public Simulated {
 public:
  virtual Fibers& fibers() = 0;
  /// Whether threads wait for their team here.
  virtual bool waits(bool /*votes*/, const Site& /*site*/) { return true; }
  /// These threads have come to a barrier, and go on.
  virtual void meet(std::span<const std::size_t> fibers) = 0;
  /// Before the team begins.
  virtual void prepare(HostTeamState& /*team*/) {}

  /// Runs `work(team, number)` for each team. False: those that are left wait for each other for ever.
  bool run(std::uint32_t teams, std::uint32_t threads,
           const std::function<void(HostTeam&, std::uint32_t)>& work) {
    std::vector<std::unique_ptr<HostTeamState>> states;
    for (std::uint32_t number = 0; number < teams; ++number) {
      states.push_back(std::make_unique<HostTeamState>(
          threads, std::make_unique<FiberMeetingPoint>(*this, threads)));
      prepare(*states.back());
    }
    const InSimulation here(*this);
    return fibers().run([&](std::size_t fiber) {
      const auto number = static_cast<std::uint32_t>(fiber) / threads;
      HostTeam team(*states[number], static_cast<std::uint32_t>(fiber) % threads);
      work(team, number);
    });
  }

 private:
  class FiberMeetingPoint : public MeetingPoint {
   public:
    FiberMeetingPoint(SimulatedTeams& simulation, std::uint32_t lanes)
        : simulation_(simulation), lanes_(lanes) {}

    void meet(std::uint32_t /*lane*/, bool votes, const std::source_location& site) override {
      Fibers& fibers = simulation_.fibers();
      if (!simulation_.waits(votes, site)) return fibers.yield();
      here_.push_back(fibers.current());
      if (here_.size() < lanes_) return fibers.block();
      simulation_.meet(here_);
      for (const std::size_t fiber : here_) {
        if (fiber != fibers.current()) fibers.unblock(fiber);
      }
      here_.clear();
      fibers.yield();
    }

   private:
    SimulatedTeams& simulation_;
    std::size_t lanes_;
    std::vector<std::size_t> here_{};
  };
};

}  // namespace rondo::device::test
