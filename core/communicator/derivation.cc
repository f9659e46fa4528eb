#include "core/communicator/derivation.h"

#include <algorithm>

#include "core/control/call.h"
#include "core/control/exchange_values.h"

namespace rondo::detail {
namespace {

/// A number for a communicator made from another one: equal on all members, unique in the world.
/// The fingerprint is only a good 64-bit mix here. `kind` keeps colors and other kinds apart.
std::uint64_t child_number(std::uint64_t parent, std::uint64_t sequence, int kind) {
  return fingerprint(Call{.sequence = sequence, .count = parent, .root = kind});
}

constexpr int shrunk = -1;    // colors are not negative
constexpr int repaired = -2;  // the channel over which a failed communicator is split
constexpr int streams = -3;   // the channel of a communicator's calls between devices

}  // namespace

std::shared_ptr<ControlChannel> Derivation::open(std::uint64_t sequence, int kind) const {
  return parent_.world->open(child_number(parent_.number, sequence, kind), parent_.members);
}

std::shared_ptr<ControlChannel> Derivation::open_stream_channel() const { return open(0, streams); }

std::shared_ptr<ControlChannel> Derivation::open_repair_channel() {
  return open(++repairs_, repaired);
}

std::optional<Membership> Derivation::split(const std::shared_ptr<ControlChannel>& control,
                                            int color, int key) {
  struct Wish {
    int color = 0;
    int key = 0;
  };
  const std::vector<Wish> all = exchange_values(control, Wish{color, key});
  ++splits_;
  struct Candidate {
    int key;
    int rank;
  };
  std::vector<Candidate> same;
  for (int peer = 0; peer < parent_.size(); ++peer) {
    const Wish& wish = all[static_cast<std::size_t>(peer)];
    if (wish.color == color) same.push_back({wish.key, peer});
  }
  if (color < 0) return std::nullopt;
  std::stable_sort(same.begin(), same.end(),
                   [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
  std::vector<int> ranks;
  for (const Candidate& candidate : same) ranks.push_back(candidate.rank);
  return child(ranks, splits_, color);
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
