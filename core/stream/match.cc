// What all ranks ask for, brought together: collectives by their order, messages with their other
// sides.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/stream/all_ranks.h"

namespace rondo::stream {
namespace {

using ByRank = std::vector<std::vector<Request>>;

bool is_message(const Request& request) { return request.call.collective == Collective::send_recv; }

Buffers buffers_of(const Request& request) {
  return {cuda::address_of(request.input), cuda::address_of(request.output)};
}

cuda::Scale scale_of(const Request& request) {
  cuda::Scale scale{.used = static_cast<bool>(request.scale)};
  if (!scale.used) return scale;
  if (request.scalar_later) {
    scale.at = cuda::address_of(request.scalar);
  } else {
    std::memcpy(&scale.bits, request.scalar, size_of(request.call.type));
  }
  return scale;
}

/// False when the ranks differ in their collectives.
bool match_collectives(const ByRank& by_rank, std::vector<Places>& calls) {
  std::vector<std::vector<const Request*>> collectives(by_rank.size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (const Request& request : by_rank[rank]) {
      if (!is_message(request)) collectives[rank].push_back(&request);
    }
  }
  for (std::size_t at = 0; at < collectives.front().size(); ++at) {
    const Call& call = collectives.front()[at]->call;
    std::vector<Buffers> buffers;
    std::vector<cuda::Scale> scales;
    for (const auto& rank : collectives) {
      if (at >= rank.size() || rank[at]->call != call) return false;
      buffers.push_back(buffers_of(*rank[at]));
      scales.push_back(scale_of(*rank[at]));
    }
    if (call.count > 0) calls.push_back(places_of(call, buffers, std::move(scales)));
  }
  return std::ranges::all_of(
      collectives, [&](const auto& rank) { return rank.size() == collectives.front().size(); });
}

/// Messages of one length become one call.
void add_message(std::vector<Places>& messages, std::size_t bytes, Place place) {
  auto found = std::ranges::find(messages, bytes, &Places::count);
  if (found == messages.end()) {
    messages.push_back({.how = {.type = DataType::uint8}, .count = bytes});
    found = messages.end() - 1;
  }
  found->list.push_back(std::move(place));
}

/// What one rank sends another one, and what that receives from it.
struct Pair {
  std::vector<const Request*> sends{};
  std::vector<const Request*> receives{};
};

/// False when the two sides differ.
bool match_pair(const Pair& pair, int to, std::vector<Places>& messages) {
  if (pair.sends.size() != pair.receives.size()) return false;
  for (std::size_t at = 0; at < pair.sends.size(); ++at) {
    const Request& send = *pair.sends[at];
    const Request& receive = *pair.receives[at];
    if (send.call.count != receive.call.count || send.call.type != receive.call.type) return false;
    const cuda::DevicePointer source = cuda::address_of(send.input);
    const cuda::DevicePointer target = cuda::address_of(receive.output);
    if (send.call.count == 0 || source == target) continue;
    add_message(messages, send.call.count * size_of(send.call.type), {{source}, {target}, to});
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
    if (!match_pair(pairs[at], static_cast<int>(at % ranks), messages)) return false;
  }
  return true;
}

/// Bytes in a row: begin and end.
using Range = std::pair<cuda::DevicePointer, cuda::DevicePointer>;

/// Whether a message writes what another one reads or writes: their order would matter.
bool meet(const std::vector<Places>& messages) {
  std::vector<Range> written;
  std::vector<Range> read;
  for (const Places& each : messages) {
    for (const Place& place : each.list) {
      written.emplace_back(place.targets.front(), place.targets.front() + each.count);
      read.emplace_back(place.sources.front(), place.sources.front() + each.count);
    }
  }
  std::ranges::sort(written);
  const auto overlaps_next = [](const Range& a, const Range& b) { return b.first < a.second; };
  if (std::ranges::adjacent_find(written, overlaps_next) != written.end()) return true;
  return std::ranges::any_of(read, [&](const Range& range) {
    const auto behind = std::ranges::lower_bound(written, range.second, {}, &Range::first);
    return behind != written.begin() && range.first < (behind - 1)->second;
  });
}

}  // namespace

std::optional<std::vector<Places>> match_calls(const ByRank& by_rank) {
  std::vector<Places> calls;
  if (!match_collectives(by_rank, calls)) return std::nullopt;
  std::vector<Places> messages;
  if (!match_messages(by_rank, messages) || meet(messages)) return std::nullopt;
  std::ranges::move(messages, std::back_inserter(calls));
  return calls;
}

}  // namespace rondo::stream
