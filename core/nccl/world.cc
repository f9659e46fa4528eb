#include "core/nccl/world.h"

#include <algorithm>
#include <utility>

#include "core/nccl/in_streams.h"

namespace rondo::nccl {
namespace {

stream::AllRanks& all_ranks_of(const World& world) {
  if (world.members.front()->streamed().all_ranks() == nullptr) {
    std::vector<std::shared_ptr<stream::StreamCalls>> ranks;
    std::vector<std::shared_ptr<stream::Order>> between_devices;
    for (std::size_t rank = 0; rank < world.members.size(); ++rank) {
      Member& member = *world.members[rank];
      ranks.push_back(member.streamed().through_host(world.streams[rank]));
      const direct_device::DeviceCalls* const calls = member.device_calls();
      between_devices.push_back(calls != nullptr ? calls->orders().own() : nullptr);
    }
    const auto made = std::make_shared<stream::AllRanks>(std::move(ranks), between_devices);
    for (Member* const member : world.members) {
      member->streamed().set_all_ranks(made);
      auto* const calls = member->device_calls();
      if (calls != nullptr && made->order() != nullptr) calls->orders().follow_also(made->order());
    }
  }
  return *world.members.front()->streamed().all_ranks();
}

}  // namespace

void World::add(const Operation& operation) {
  const State& state = operation.member->share();
  const auto rank = static_cast<std::size_t>(state->rank());
  const auto ranks = static_cast<std::size_t>(state->size());
  members.resize(ranks);
  streams.resize(ranks);
  requests.resize(ranks);
  if (members[rank] == nullptr) streams[rank] = operation.stream;
  members[rank] = operation.member.get();
  requests[rank].push_back(request_of(operation));
}

void World::add(World&& other) {
  members.resize(other.members.size());
  streams.resize(other.members.size());
  requests.resize(other.members.size());
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (other.members[rank] == nullptr) continue;
    members[rank] = other.members[rank];
    streams[rank] = other.streams[rank];
    requests[rank] = std::move(other.requests[rank]);
  }
}

bool World::is_whole() const { return std::ranges::count(members, nullptr) == 0; }

bool put(const World& world) {
  stream::AllRanks& all_ranks = all_ranks_of(world);
  for (Member* const member : world.members) member->streamed().rethrow_failure();
  return all_ranks.put(world.requests);
}

bool is_closed(const World& world) {
  const auto& all_ranks = world.members.front()->streamed().all_ranks();
  return all_ranks != nullptr && all_ranks->order() == nullptr;
}

}  // namespace rondo::nccl
