// Communicators made from others: split, shrink.
#include <algorithm>
#include <sstream>

#include "core/communicator/living.h"

namespace rondo::detail {
namespace {

/// A number for a communicator made from another one: equal on all members, unique in the world.
/// The fingerprint is only a good 64-bit mix here. `kind` keeps colors and other kinds apart.
std::uint64_t child_number(std::uint64_t parent, std::uint64_t sequence, int kind) {
  return fingerprint(Call{.sequence = sequence, .count = parent, .root = kind});
}

constexpr int shrunk = -1;    // colors are not negative
constexpr int repaired = -2;  // the line over which a failed communicator is split
constexpr int streams = -3;   // the line of a communicator's calls between devices

}  // namespace

std::shared_ptr<CommunicatorState> CommunicatorState::split(int color, int key) {
  require_usable();
  return split(line_, color, key);
}

std::shared_ptr<ControlLine> CommunicatorState::open_stream_line() const {
  return membership_.world->open(child_number(membership_.number, 0, streams), membership_.members);
}

std::shared_ptr<CommunicatorState> CommunicatorState::split_after_failure(int color, int key) {
  require_own_process();
  const auto line = membership_.world->open(child_number(membership_.number, ++repairs_, repaired),
                                            membership_.members);
  return split(line, color, key);
}

std::shared_ptr<CommunicatorState> CommunicatorState::split(
    const std::shared_ptr<ControlLine>& line, int color, int key) {
  const std::vector<std::string> all =
      line->exchange(std::to_string(color) + " " + std::to_string(key));
  ++splits_;
  struct Candidate {
    int key;
    int rank;
  };
  std::vector<Candidate> same;
  for (int peer = 0; peer < size(); ++peer) {
    std::istringstream text(all[static_cast<std::size_t>(peer)]);
    int its_color = 0;
    int its_key = 0;
    text >> its_color >> its_key;
    if (its_color == color) same.push_back({its_key, peer});
  }
  if (color < 0) return nullptr;
  std::stable_sort(same.begin(), same.end(),
                   [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
  std::vector<int> ranks;
  for (const Candidate& candidate : same) ranks.push_back(candidate.rank);
  return child(ranks, child_number(membership_.number, splits_, color));
}

std::shared_ptr<CommunicatorState> CommunicatorState::shrink(const std::vector<int>& excluded) {
  require_own_process();
  std::vector<int> ranks;
  for (int peer = 0; peer < size(); ++peer) {
    if (std::ranges::find(excluded, peer) == excluded.end()) ranks.push_back(peer);
  }
  // All ranks that remain know the members: no exchange over a line that may have failed. Ranks
  // that exclude different ranks have different members, which the control plane finds out.
  return child(ranks, child_number(membership_.number, ++shrinks_, shrunk));
}

std::shared_ptr<CommunicatorState> CommunicatorState::child(const std::vector<int>& ranks,
                                                            std::uint64_t number) {
  Membership members{.world = membership_.world, .local = membership_.local, .number = number};
  for (const int peer : ranks) {
    if (peer == rank()) members.rank = static_cast<int>(members.members.size());
    members.members.push_back(membership_.members[static_cast<std::size_t>(peer)]);
  }
  Config config = config_;
  config.timeout = watchdog_.timeout();
  config.timeout_from_program = watchdog_.is_from_program();
  return make_state(std::move(members), config);
}

}  // namespace rondo::detail
