// Inside a host. One algorithm runs over its ranks. With three levels one runs in each socket (NUMA
// node), and another one between sockets, over one rank of each: the root, and elsewhere the rank with
// the root's place in its socket. So a sum or copy crosses between two sockets once, and ranks that are
// roots in turn share that work.
//
//   reduce to rank 1, sockets {0 1 2} and {3 4 5}
//     inside sockets    0 2 -> 1    3 5 -> 4
//     between sockets   4 -> 1
//
//   broadcast: the same, backwards
//
// Cost of crossing, in vectors   one level, one_shot   ranks of the other sockets
//                                three levels          sockets - 1
#include "algorithms/inside.h"

#include <algorithm>
#include <utility>

namespace rondo {
namespace {

/// Some ranks of a host.
struct Level {
  std::vector<int> ranks{};
  int index = 0;  ///< this rank's
  int root = 0;
  std::string_view algorithm{};
};

int place_in(const std::vector<int>& ranks, int rank) {
  return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
}

Steps among(const Level& level, Part part, Collective collective, int most) {
  const int size = static_cast<int>(level.ranks.size());
  part.ranks = level.ranks;
  return in_runs(std::move(part), most, *find_algorithm(collective, level.algorithm),
                 {level.index, size, level.root, 0, 1});
}

/// This rank's socket.
Level within_socket(const InHost& at, int root, std::string_view algorithm) {
  const std::vector<std::vector<int>> sockets = at.hosts.sockets(at.hosts.host_of(at.rank));
  const auto ranks_of = [&](int rank) -> const std::vector<int>& {
    return sockets[static_cast<std::size_t>(at.hosts.socket_of(rank))];
  };
  const std::vector<int>& near = ranks_of(at.rank);
  const int number = place_in(ranks_of(root), root);
  return {near, place_in(near, at.rank), number % static_cast<int>(near.size()), algorithm};
}

/// One rank of each; `index` is right for these only.
Level between_sockets(const InHost& at, int root, std::string_view algorithm) {
  const std::vector<std::vector<int>> sockets = at.hosts.sockets(at.hosts.host_of(at.rank));
  const int of_root = at.hosts.socket_of(root);
  Level level{{}, at.hosts.socket_of(at.rank), of_root, algorithm};
  const int number = place_in(sockets[static_cast<std::size_t>(of_root)], root);
  for (const std::vector<int>& socket : sockets)
    level.ranks.push_back(socket[static_cast<std::size_t>(number) % socket.size()]);
  return level;
}

Part next_phase(Part part, Chunk from, Chunk into) {
  ++part.phase;
  part.input = from;
  part.output = into;
  return part;
}

std::vector<Steps> by_sockets(Part part, const InHost& at, Collective collective,
                              const Composition& composition) {
  const int host = at.hosts.host_of(at.rank);
  const int root = at.hosts.ranks(host)[static_cast<std::size_t>(at.root)];
  const Level within = within_socket(at, root, composition.socket);
  const Level between = between_sockets(at, root, composition.inside);
  const bool alone = within.ranks.size() == 1;
  const bool is_one = between.ranks.size() == 1;
  const bool crosses = !is_one && within.index == within.root;
  std::vector<Steps> all;
  const auto add = [&](const Level& level, const Part& of) {
    all.push_back(among(level, of, collective, at.most));
  };
  const Chunk from = part.input;
  const Chunk into = part.output;
  if (collective == Collective::reduce) {
    const Chunk sum = is_one ? into : scratch(at.hosts.largest(), 0);
    part.output = sum;
    if (!alone) add(within, part);
    if (crosses) add(between, next_phase(part, alone ? from : sum, into));
  } else {
    if (crosses) add(between, part);
    if (!alone) add(within, next_phase(part, is_one ? from : into, into));
  }
  return all;
}

}  // namespace

std::vector<Steps> inside_host(Part part, const InHost& at, Collective collective,
                               const Composition& composition) {
  const std::vector<int>& ranks = at.hosts.ranks(at.hosts.host_of(at.rank));
  std::vector<Steps> all;
  if (ranks.size() == 1) return all;
  if (!composition.socket.empty()) return by_sockets(std::move(part), at, collective, composition);
  const Level level{ranks, at.hosts.index_of(at.rank), at.root, composition.inside};
  all.push_back(among(level, std::move(part), collective, at.most));
  return all;
}

std::vector<std::string_view> places_inside(const Composition& composition, Collective collective) {
  if (composition.socket.empty() || !is_vector(collective)) return {"inside hosts"};
  if (collective == Collective::reduce) return {"inside sockets", "between sockets"};
  return {"between sockets", "inside sockets"};
}

}  // namespace rondo
