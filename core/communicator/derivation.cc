#include "core/communicator/derivation.h"

#include <algorithm>

#include "core/control/call.h"

namespace rondo::detail {
namespace {

/// A number for a communicator made from another one: equal on all members, unique in the world.
/// The fingerprint is only a good 64-bit mix here. `kind` keeps colors and other kinds apart.
std::uint64_t child_number(std::uint64_t parent, std::uint64_t sequence, int kind) {
  return fingerprint(Call{.sequence = sequence, .count = parent, .root = kind});
}

constexpr int shrunk = -1;   // colors are not negative
constexpr int streams = -2;  // the channel of a communicator's calls between devices

}  // namespace

std::shared_ptr<ControlChannel> Derivation::open(std::uint64_t sequence, int kind) const {
  return parent_.world->open(child_number(parent_.number, sequence, kind), parent_.members);
}

std::shared_ptr<ControlChannel> Derivation::open_stream_channel() const { return open(0, streams); }

std::optional<Membership> Derivation::split(std::span<const SplitWish> wishes) {
  ++splits_;
  const SplitWish& own = wishes[static_cast<std::size_t>(parent_.rank)];
  if (own.color < 0) return std::nullopt;
  std::vector<int> ranks;
  for (int peer = 0; peer < parent_.size(); ++peer)
    if (wishes[static_cast<std::size_t>(peer)].color == own.color) ranks.push_back(peer);
  std::ranges::stable_sort(ranks, {},
                           [&](int peer) { return wishes[static_cast<std::size_t>(peer)].key; });
  return child(ranks, splits_, own.color);
}

Membership Derivation::shrink(const std::vector<int>& excluded) {
  std::vector<int> ranks;
  for (int peer = 0; peer < parent_.size(); ++peer) {
    if (std::ranges::find(excluded, peer) == excluded.end()) ranks.push_back(peer);
  }
  // All ranks that remain know the members: no exchange over a channel that may have failed. Ranks
  // that exclude different ranks have different members, which the control plane finds out.
  return child(ranks, ++shrinks_, shrunk);
}

Membership Derivation::child(const std::vector<int>& ranks, std::uint64_t sequence,
                             int kind) const {
  Membership members{.world = parent_.world,
                     .local = parent_.local,
                     .number = child_number(parent_.number, sequence, kind)};
  for (const int peer : ranks) {
    if (peer == parent_.rank) members.rank = static_cast<int>(members.members.size());
    members.members.push_back(parent_.members[static_cast<std::size_t>(peer)]);
  }
  return members;
}

}  // namespace rondo::detail
