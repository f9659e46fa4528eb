#include "core/nccl/together.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "core/nccl/rendezvous.h"

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

/// What a group asks of one communicator.
struct Asked {
  World world{};
  bool on_device = false;  ///< any buffer is
  bool taken = false;
};

/// By the communicators' identities. One that cannot be used is in none: others report it.
using Worlds = std::map<std::uint64_t, Asked>;

Asked* find(Worlds& worlds, const Operation& operation) {
  if (operation.member->is_revoked()) return nullptr;
  const auto found = worlds.find(operation.member->share()->identity());
  return found == worlds.end() ? nullptr : &found->second;
}

bool has_device_buffer(const Operation& operation) {
  return operation.call.count > 0 &&
         (operation.where.input.on_device || operation.where.output.on_device);
}

Worlds find_worlds(std::span<const Operation> operations) {
  Worlds worlds;
  for (const Operation& operation : operations) {
    Asked& asked = worlds[operation.member->share()->identity()];
    asked.world.add(operation);
    asked.on_device = asked.on_device || has_device_buffer(operation);
  }
  std::erase_if(worlds, [](const auto& each) {
    const Asked& asked = each.second;
    if (!asked.on_device || !asked.world.is_whole()) return true;
    return std::ranges::any_of(asked.world.members, [](const Member* member) {
      // Where such calls were made, they know best how they failed.
      return member->is_over() ||
             (member->streamed().all_ranks() == nullptr && member->share()->failure());
    });
  });
  return worlds;
}

/// CU_STREAM_PER_THREAD names another stream in each thread.
bool is_of_its_thread(cudaStream_t stream) { return reinterpret_cast<std::uintptr_t>(stream) == 2; }

bool may_be_brought(const Operation& operation) {
  return !is_message(operation) && has_device_buffer(operation) &&
         !is_of_its_thread(operation.stream) && !is_captured(operation.stream) &&
         !operation.member->is_over() && !operation.member->share()->failure();
}

/// If so there is nobody to wait for: see put_together().
bool are_of_all_ranks(std::span<const Operation> operations) {
  const auto ranks = static_cast<std::size_t>(operations.front().member->share()->size());
  if (operations.size() < ranks) return false;
  std::set<const Member*> members;
  for (const Operation& operation : operations) members.insert(operation.member.get());
  return members.size() == ranks;
}

/// Tells the rendezvous of each operation's communicator that it takes another path.
void pass(std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    Rendezvous* const rendezvous = operation.member->streamed().rendezvous();
    if (rendezvous != nullptr && rendezvous->is_open())
      rendezvous->pass(operation.member->share()->rank(), is_message(operation) ? 0 : 1);
  }
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

PutTogether put_together(std::span<const Operation> operations, FirstFailure& failure) {
  if (cuda::find_driver() == nullptr) return {};
  Worlds worlds = find_worlds(operations);
  PutTogether put;
  for (auto& [identity, asked] : worlds) {
    failure.watch([&, &one = asked] {
      one.taken = true;  // also when it fails
      one.taken = nccl::put(one.world);
    });
    put.any = put.any || asked.taken;
  }
  if (!put.any) return put;
  for (const Operation& operation : operations) {
    const Asked* const asked = find(worlds, operation);
    if (asked == nullptr || !asked->taken) put.others.push_back(operation);
  }
  return put;
}

bool meet(std::span<const Operation> operations) {
  if (operations.empty()) return false;
  Rendezvous* const rendezvous = operations.front().member->streamed().rendezvous();
  const bool one = rendezvous != nullptr && rendezvous->is_open() &&
                   std::ranges::all_of(operations, [&](const Operation& operation) {
                     return operation.member->streamed().rendezvous() == rendezvous;
                   });
  if (!one || are_of_all_ranks(operations) || !std::ranges::all_of(operations, may_be_brought)) {
    pass(operations);
    return false;
  }
  World part;
  for (const Operation& operation : operations) part.add(operation);
  return rendezvous->bring(part);
}

}  // namespace rondo::nccl
