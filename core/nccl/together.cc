#include "core/nccl/together.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rondo::nccl {
namespace {

/// What a group asks of one communicator, by rank.
struct World {
  std::vector<Member*> members{};
  std::vector<cudaStream_t> streams{};  ///< of each rank's first call
  std::vector<std::vector<stream::Request>> requests{};
  bool on_device = false;  ///< any buffer is
  bool taken = false;
};

/// By the communicators' identities. One that cannot be used is in none: others say so.
using Worlds = std::map<std::uint64_t, World>;

World* find(Worlds& worlds, const Operation& operation) {
  if (operation.member->is_revoked()) return nullptr;
  const auto found = worlds.find(operation.member->share()->identity());
  return found == worlds.end() ? nullptr : &found->second;
}

bool has_device_buffer(const Operation& operation) {
  return operation.call.count > 0 &&
         (cuda::is_device_memory(operation.input) || cuda::is_device_memory(operation.output));
}

Worlds find_worlds(std::span<const Operation> operations) {
  Worlds worlds;
  for (const Operation& operation : operations) {
    const State& state = operation.member->share();
    World& world = worlds[state->identity()];
    const auto rank = static_cast<std::size_t>(state->rank());
    const auto ranks = static_cast<std::size_t>(state->size());
    world.members.resize(ranks);
    world.streams.resize(ranks);
    world.requests.resize(ranks);
    if (world.members[rank] == nullptr) world.streams[rank] = operation.stream;
    world.members[rank] = operation.member.get();
    world.requests[rank].push_back(request_of(operation));
    world.on_device = world.on_device || has_device_buffer(operation);
  }
  std::erase_if(worlds, [](const auto& each) {
    const World& world = each.second;
    return !world.on_device || std::ranges::any_of(world.members, [](const Member* member) {
      if (member == nullptr || member->is_revoked()) return true;
      // Where such calls were made they know best how they failed.
      return member->all_ranks() == nullptr && member->share()->failure();
    });
  });
  return worlds;
}

stream::AllRanks& all_ranks_of(World& world) {
  if (world.members.front()->all_ranks() == nullptr) {
    std::vector<std::shared_ptr<stream::StreamCalls>> ranks;
    std::vector<std::shared_ptr<stream::Order>> between_devices;
    for (std::size_t rank = 0; rank < world.members.size(); ++rank) {
      Member& member = *world.members[rank];
      ranks.push_back(member.share_streams(world.streams[rank]));
      const direct_device::DeviceCalls* const calls = member.device_calls();
      between_devices.push_back(calls != nullptr ? calls->order() : nullptr);
    }
    const auto made = std::make_shared<stream::AllRanks>(std::move(ranks), between_devices);
    for (Member* const member : world.members) {
      member->set_all_ranks(made);
      auto* const calls = member->device_calls();
      if (calls != nullptr && made->order() != nullptr) calls->follow_also(made->order());
    }
  }
  return *world.members.front()->all_ranks();
}

}  // namespace

PutTogether put_together(std::span<const Operation> operations, FirstFailure& failure) {
  if (cuda::find_driver() == nullptr) return {};
  Worlds worlds = find_worlds(operations);
  PutTogether put;
  for (auto& [identity, world] : worlds) {
    failure.watch([&, &all = world] {
      stream::AllRanks& all_ranks = all_ranks_of(all);
      all.taken = true;  // also when it fails
      all.taken = all_ranks.put(all.requests);
    });
    put.any = put.any || world.taken;
  }
  if (!put.any) return put;
  for (const Operation& operation : operations) {
    const World* const world = find(worlds, operation);
    if (world == nullptr || !world->taken) put.others.push_back(operation);
  }
  return put;
}

}  // namespace rondo::nccl
