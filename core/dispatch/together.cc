#include "core/dispatch/together.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "core/dispatch/dispatch.h"

namespace rondo::dispatch {
namespace {

stream::AllRanks& all_ranks_of(const World& world) {
  if (world.ranks.front()->all_ranks() == nullptr) {
    std::vector<std::shared_ptr<stream::StreamCalls>> through_host;
    std::vector<std::shared_ptr<stream::Order>> between_devices;
    for (std::size_t rank = 0; rank < world.ranks.size(); ++rank) {
      RankCalls& calls = *world.ranks[rank];
      through_host.push_back(calls.through_host(world.requests[rank].front().stream));
      const direct_device::DeviceCalls* const device = calls.between_devices();
      between_devices.push_back(device != nullptr ? device->orders().own() : nullptr);
    }
    const auto made = std::make_shared<stream::AllRanks>(std::move(through_host), between_devices);
    for (RankCalls* const calls : world.ranks) {
      calls->set_all_ranks(made);
      auto* const device = calls->between_devices();
      if (device != nullptr && made->order() != nullptr)
        device->orders().follow_also(made->order());
    }
  }
  return *world.ranks.front()->all_ranks();
}

/// What a group asks of one communicator.
struct Part {
  World world{};
  bool on_device = false;  ///< any buffer is
  bool named = false;      ///< an algorithm is, of any call
  bool taken = false;
};

/// By the communicators' identities.
using Parts = std::map<std::uint64_t, Part>;

bool has_device_buffer(const stream::Request& request) {
  return request.call.count > 0 &&
         (request.where.input.on_device || request.where.output.on_device);
}

Parts find_worlds(AskedSpan group) {
  Parts parts;
  for (const Asked* const asked : group) {
    Part& part = parts[asked->calls->state()->identity()];
    part.world.add(*asked);
    part.on_device = part.on_device || has_device_buffer(asked->request);
    part.named = part.named || is_named(*asked);
  }
  std::erase_if(parts, [](const auto& each) {
    const Part& part = each.second;
    if (!part.on_device || part.named || !part.world.is_whole()) return true;
    // Where such calls were made, they know best how they failed.
    return std::ranges::any_of(part.world.ranks, [](const RankCalls* calls) {
      return calls->all_ranks() == nullptr && calls->state()->failure();
    });
  });
  return parts;
}

/// CU_STREAM_PER_THREAD names another stream in each thread.
bool is_of_its_thread(cuda::Stream stream) { return reinterpret_cast<std::uintptr_t>(stream) == 2; }

bool may_be_brought(const Asked* asked) {
  const stream::Request& request = asked->request;
  return !is_message(request) && has_device_buffer(request) && !is_named(*asked) &&
         !is_of_its_thread(request.stream) && !is_captured(request.stream) &&
         !asked->calls->state()->failure();
}

/// If so there is nobody to wait for: see put_together().
bool are_of_all_ranks(AskedSpan group) {
  const auto ranks = static_cast<std::size_t>(group.front()->calls->state()->size());
  if (group.size() < ranks) return false;
  std::set<const RankCalls*> seen;
  for (const Asked* const asked : group) seen.insert(asked->calls);
  return seen.size() == ranks;
}

/// Tells the rendezvous of each call's communicator that it takes another path.
void pass(AskedSpan group) {
  for (const Asked* const asked : group) {
    Rendezvous* const rendezvous = asked->calls->rendezvous();
    if (rendezvous != nullptr && rendezvous->is_open())
      rendezvous->pass(asked->calls->state()->rank(), is_message(asked->request) ? 0 : 1);
  }
}

}  // namespace

void World::add(const Asked& asked) {
  const State& state = asked.calls->state();
  const auto rank = static_cast<std::size_t>(state->rank());
  const auto size = static_cast<std::size_t>(state->size());
  ranks.resize(size);
  requests.resize(size);
  ranks[rank] = asked.calls;
  requests[rank].push_back(asked.request);
}

void World::add(World&& other) {
  ranks.resize(other.ranks.size());
  requests.resize(other.ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (other.ranks[rank] == nullptr) continue;
    ranks[rank] = other.ranks[rank];
    requests[rank] = std::move(other.requests[rank]);
  }
}

bool World::is_whole() const { return std::ranges::count(ranks, nullptr) == 0; }

bool put(const World& world) {
  stream::AllRanks& all_ranks = all_ranks_of(world);
  for (RankCalls* const calls : world.ranks) calls->rethrow_failure();
  return all_ranks.put(world.requests);
}

bool is_closed(const World& world) {
  const auto& all_ranks = world.ranks.front()->all_ranks();
  return all_ranks != nullptr && all_ranks->order() == nullptr;
}

AskedList put_together(AskedSpan group, FirstFailure& failure) {
  Parts parts = find_worlds(group);
  for (auto& [identity, part] : parts) {
    failure.watch([&, &one = part] {
      one.taken = true;  // also when it fails
      one.taken = put(one.world);
    });
  }
  AskedList others;
  for (const Asked* const asked : group) {
    const auto found = parts.find(asked->calls->state()->identity());
    if (found == parts.end() || !found->second.taken) others.push_back(asked);
  }
  return others;
}

bool meet(AskedSpan group) {
  if (group.empty()) return false;
  Rendezvous* const rendezvous = group.front()->calls->rendezvous();
  const bool one = rendezvous != nullptr && rendezvous->is_open() &&
                   std::ranges::all_of(group, [&](const Asked* asked) {
                     return asked->calls->rendezvous() == rendezvous;
                   });
  if (!one || are_of_all_ranks(group) || !std::ranges::all_of(group, may_be_brought)) {
    pass(group);
    return false;
  }
  World part;
  for (const Asked* const asked : group) part.add(*asked);
  return rendezvous->bring(part);
}

}  // namespace rondo::dispatch
