// Topology: where the ranks of a communicator live, and what links them. A value, equal on all of
// its ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace rondo {

/// The kind of a link, for the choice of algorithms: stores and loads, or system calls and a wire.
enum class LinkClass : std::uint8_t { memory, network };

struct Topology {
  int ranks = 1;
  LinkClass links = LinkClass::memory;  ///< the slowest between any two ranks
  bool one_machine = false;             ///< all ranks run on one
  int short_frames = 2;                 ///< every channel holds, see core/plan/cut.h
  bool direct = false;                  ///< all ranks reach each other's memory
  /// By rank: its host's number. Empty: one host if one_machine, else a host for each rank.
  std::vector<int> host{};
};

/// The ranks of each host, in their order; hosts in the order of their first ranks.
class Hosts {
 public:
  explicit Hosts(const Topology& topology) {
    std::map<int, int> numbers;  // by the topology's number
    for (int rank = 0; rank < topology.ranks; ++rank) {
      const auto [found, is_new] = numbers.try_emplace(number(topology, rank), count());
      if (is_new) ranks_.emplace_back();
      std::vector<int>& here = ranks_[static_cast<std::size_t>(found->second)];
      places_.push_back({found->second, static_cast<int>(here.size())});
      here.push_back(rank);
      largest_ = std::max(largest_, static_cast<int>(here.size()));
    }
  }

  int count() const { return static_cast<int>(ranks_.size()); }
  const std::vector<int>& ranks(int host) const { return ranks_[static_cast<std::size_t>(host)]; }
  int size(int host) const { return static_cast<int>(ranks(host).size()); }
  int largest() const { return largest_; }
  int host_of(int rank) const { return places_[static_cast<std::size_t>(rank)].host; }
  /// The rank's place among those of its host.
  int index_of(int rank) const { return places_[static_cast<std::size_t>(rank)].index; }
  /// Several hosts, and several ranks on one of them.
  bool have_two_levels() const { return count() > 1 && largest_ > 1; }

 private:
  struct Place {
    int host = 0;
    int index = 0;
  };

  static int number(const Topology& topology, int rank) {
    if (!topology.host.empty()) return topology.host[static_cast<std::size_t>(rank)];
    return topology.one_machine ? 0 : rank;
  }

  std::vector<std::vector<int>> ranks_{};
  std::vector<Place> places_{};
  int largest_ = 0;
};

}  // namespace rondo
