#include "tests/device/host_group.h"

#include <memory>

#include "tests/device/workers.h"

namespace rondo::device::test {
HostGroup::HostGroup(const ArenaShape& shape) : shape_(shape), controls_(shape.ranks) {
  const std::size_t lines = ArenaPlaces(shape).bytes() / sizeof(Line) + 1;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    memory_.emplace_back(lines);
    places_.push_back(reinterpret_cast<std::byte*>(memory_.back().data()));
  }
}

void run_teams(std::uint32_t teams, std::uint32_t threads,
               const std::function<void(HostTeam&, std::uint32_t)>& work,
               const std::function<void()>& meanwhile) {
  std::vector<std::unique_ptr<HostTeamState>> states;
  for (std::uint32_t number = 0; number < teams; ++number)
    states.push_back(std::make_unique<HostTeamState>(threads));
  const auto running = std::make_shared<Running>();
  const UntilEnded before_states_go(*running);
  for (std::uint32_t number = 0; number < teams; ++number) {
    for (std::uint32_t lane = 0; lane < threads; ++lane) {
      Running::start(running, [&work, number, lane, state = states[number].get()] {
        HostTeam team(*state, lane);
        work(team, number);
      });
    }
  }
  meanwhile();
}

}  // namespace rondo::device::test
