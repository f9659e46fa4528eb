// Brings together what all ranks ask for: collectives by their order, messages with their other
// sides.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/base/memory_range.h"
#include "core/stream/all_ranks.h"

namespace rondo::stream {
namespace {

using ByRank = std::vector<std::vector<Request>>;

/// False when the ranks differ in their collectives.
bool match_collectives(const ByRank& by_rank, JointPlans& plans, std::vector<Places>& calls) {
  std::vector<std::vector<const Request*>> collectives(by_rank.size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (const Request& request : by_rank[rank]) {
      if (!is_message(request)) collectives[rank].push_back(&request);
    }
  }
  for (std::size_t at = 0; at < collectives.front().size(); ++at) {
    const Request& first = *collectives.front()[at];
    std::vector<const Request*> all;
    for (const auto& rank : collectives) {
      if (at >= rank.size() || rank[at]->call != first.call || rank[at]->counts != first.counts)
        return false;
      all.push_back(rank[at]);
    }
    if (first.call.count == 0) continue;
    const JointPlan& plan = plans.of(first.call.collective, first.call.root);
    std::ranges::move(places_of(plan, all), std::back_inserter(calls));
  }
  return std::ranges::all_of(
      collectives, [&](const auto& rank) { return rank.size() == collectives.front().size(); });
}

/// What one rank sends to another one, and what that one receives from it.
struct Pair {
  std::vector<const Request*> sends{};
  std::vector<const Request*> receives{};
};

/// False when the two sides differ.
bool match_pair(const Pair& pair, std::size_t to, std::vector<Places>& messages) {
  if (pair.sends.size() != pair.receives.size()) return false;
  for (std::size_t at = 0; at < pair.sends.size(); ++at) {
    const Request& send = *pair.sends[at];
    const Request& receive = *pair.receives[at];
    if (send.call.count != receive.call.count || send.call.type != receive.call.type) return false;
    const cuda::DevicePointer source = cuda::address_of(send.input);
    const cuda::DevicePointer target = cuda::address_of(receive.output);
    if (send.call.count == 0 || source == target) continue;
    // Messages of one length become one call.
    add_piece(
        messages,
        {.how = {.type = DataType::uint8}, .count = send.call.count * size_of(send.call.type)},
        std::array{source, target}, to);
  }
  return true;
}

bool match_messages(const ByRank& by_rank, std::vector<Places>& messages) {
  const std::size_t ranks = by_rank.size();
  std::vector<Pair> pairs(ranks * ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const Request& request : by_rank[rank]) {
      if (!is_message(request)) continue;
      const auto peer = static_cast<std::size_t>(request.peer);
      if (request.sends) {
        pairs[rank * ranks + peer].sends.push_back(&request);
      } else {
        pairs[peer * ranks + rank].receives.push_back(&request);
      }
    }
  }
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    if (!match_pair(pairs[at], at % ranks, messages)) return false;
  }
  return true;
}

/// Whether a message writes what another one reads or writes: their order would matter.
bool meet(const std::vector<Places>& messages) {
  std::vector<MemoryRange> targets;
  std::vector<MemoryRange> sources;
  for (const Places& each : messages) {
    for (std::size_t i = 0; i < each.work.pointers.size(); i += 2) {
      sources.push_back({each.work.pointers[i], each.work.count});
      targets.push_back({each.work.pointers[i + 1], each.work.count});
    }
  }
  const WrittenMemory written(std::move(targets));
  return written.meets_itself() ||
         std::ranges::any_of(sources, [&](const MemoryRange& read) { return written.meets(read); });
}

}  // namespace

std::optional<std::vector<Places>> match_calls(const ByRank& by_rank, JointPlans& plans) {
  std::vector<Places> calls;
  if (!match_collectives(by_rank, plans, calls)) return std::nullopt;
  std::vector<Places> messages;
  if (!match_messages(by_rank, messages) || meet(messages)) return std::nullopt;
  std::ranges::move(messages, std::back_inserter(calls));
  return calls;
}

}  // namespace rondo::stream
