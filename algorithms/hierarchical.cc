// Hierarchical. One algorithm runs inside each host, another one across hosts, on sums or blocks
// that the ranks of a host share out. So a host sends each byte once, whatever its ranks.
//
//   all_reduce, hosts {0 1 2} and {3 4}, shares a b c
//     inside    each share is reduced to its owner     a: 0, 3   b: 1, 4   c: 2, 3
//     across    the owners of a share all-reduce it    0-3       1-4       2-3
//     inside    each owner broadcasts it               to {1 2}, {4} and so on
//
//   reduce_scatter   inside: blocks to their owners; across: owners reduce-scatter
//   all_gather       across: owners all-gather blocks; inside: owners broadcast them
//   reduce           inside: to one rank of the host; across: to the root
//   broadcast        across: from the root to one rank of each host; inside: to the others
//   gather, scatter  likewise
//   barrier          as an all_reduce of nothing
//
// With three levels, what goes on inside a host crosses from socket to socket once (inside.cc).
//
// Share or block j of a host with L ranks belongs to its rank j mod L, so the ranks of a host share
// the work. Where latency decides, one rank of each host does it all instead, in fewer messages:
//
//   all_reduce                    if the algorithm across does not cut the vector by ranks
//   reduce_scatter, all_gather    if it sends several blocks in a message. Inside, that rank has all
//                                 sums, and sends the blocks; or gets the blocks, and broadcasts all.
//
// A rank uses one port. If hosts have p ports and the algorithm across passes vectors on (a chain,
// say), these are cut into p shares, each with its own leaders. Then the root's host broadcasts
// inside before its leaders send, and reduces inside after they have received.
//
// Cost of all_reduce for H hosts   sent by a host, in N
//   across ring                    2(H-1)/H, over the ranks of the host together
//
// Karonis et al.: Exploiting hierarchy in parallel computer networks to optimize collective
// operation performance, 2000.
#include <algorithm>
#include <memory>
#include <utility>

#include "algorithms/compose.h"
#include "algorithms/composition.h"
#include "algorithms/embed.h"
#include "algorithms/inside.h"

namespace rondo {
namespace {

/// How blocks come to the rank that does it all, and go from it.
constexpr std::string_view linear = "linear";

/// One lane of one rank.
class Place {
 public:
  /// `most`: chunks in a message inside a host. It is no longer than those that go across, since all
  /// messages are cut so that the longest fits into a frame, and a wire needs full frames.
  Place(const Composition& composition, const Hosts& hosts, int rank, int root, int lane, int most)
      : composition_(composition),
        across_(*composition.across),
        hosts_(hosts),
        rank_(rank),
        root_(root),
        lane_(lane),
        most_(most),
        total_(layout(composition, hosts).chunks()),
        host_(hosts.host_of(rank)),
        index_(hosts.index_of(rank)),
        shares_(composition.shares(hosts)),
        levels_(composition.levels_inside()) {}

  Steps all_reduce() const {
    std::vector<Steps> all;
    const Chunk sum = alone() ? input(0) : output(0);
    shares_inside(all, Collective::reduce, input(0), output(0), 0);
    shares_across(all, sum, output(0), 0, levels_);
    shares_inside(all, Collective::broadcast, output(0), output(0), levels_ + phases(across_));
    return in_order(std::move(all));
  }

  Steps reduce_scatter() const {
    std::vector<Steps> all;
    const Chunk sum = free_scratch(0);
    for (int to = 0; to < hosts_.count(); ++to)
      for (int block = 0; block < hosts_.size(to); ++block)
        inside(all, Collective::reduce, block_of(to, block), owner(block), input(0), sum, 0);
    for (int block = index_; block < hosts_.largest(); block += hosts_.size(host_))
      across(all, owners(block), blocks(block), alone() ? input(0) : sum, output(0),
             first_free() + 1, levels_);
    return in_order(std::move(all));
  }

  Steps reduce_scatter_by_leaders() const {
    std::vector<Steps> all;
    const Chunk sum = free_scratch(0);
    const Chunk kept = free_scratch(1);
    inside(all, Collective::reduce, everything(), first(), input(0), sum, 0);
    if (leads())
      across(all, leaders(), blocks_of_hosts(), alone() ? input(0) : sum,
             alone() ? output(0) : kept, first_free() + 2, levels_);
    blocks_inside(all, Collective::scatter, linear, kept, output(0), levels_ + phases(across_));
    return in_order(std::move(all));
  }

  Steps all_gather() const {
    std::vector<Steps> all;
    for (int block = index_; block < hosts_.largest(); block += hosts_.size(host_))
      across(all, owners(block), blocks(block), input(0), output(0), 0, 0);
    for (int from = 0; from < hosts_.count(); ++from)
      for (int block = 0; block < hosts_.size(from); ++block)
        inside(all, Collective::broadcast, block_of(from, block), owner(block), output(0),
               output(0), phases(across_));
    return in_order(std::move(all));
  }

  Steps all_gather_by_leaders() const {
    std::vector<Steps> all;
    blocks_inside(all, Collective::gather, linear, input(0), output(0), 0);
    if (leads())
      across(all, leaders(), blocks_of_hosts(), alone() ? input(0) : output(0), output(0), 0, 1);
    inside(all, Collective::broadcast, everything(), first(), output(0), output(0),
           1 + phases(across_));
    return in_order(std::move(all));
  }

  Steps gather() const {
    std::vector<Steps> all;
    const Chunk kept = rank_ == root_ ? output(0) : free_scratch(0);
    blocks_inside(all, Collective::gather, composition_.inside, input(0), kept, 0);
    if (leads())
      across(all, leaders(), blocks_of_hosts(), alone() ? input(0) : kept, output(0),
             first_free() + 1, 1);
    return in_order(std::move(all));
  }

  Steps scatter() const {
    std::vector<Steps> all;
    const Chunk kept = rank_ == root_ ? input(0) : free_scratch(0);
    if (leads())
      across(all, leaders(), blocks_of_hosts(), input(0), alone() ? output(0) : kept,
             first_free() + 1, 0);
    blocks_inside(all, Collective::scatter, composition_.inside, kept, output(0), phases(across_));
    return in_order(std::move(all));
  }

  Steps broadcast() const {
    std::vector<Steps> all;
    const bool many = owners_are_many();
    const int phase = shares_ > 1 ? levels_ : 0;
    for (int share = 0; many && share < shares_; ++share)
      inside(all, Collective::broadcast, span(share), first(), input(0), output(0), 0);
    shares_across(all, many ? output(0) : input(0), output(0), 0, phase);
    if (!many)
      shares_inside(all, Collective::broadcast, output(0), output(0), phase + phases(across_));
    return in_order(std::move(all));
  }

  Steps reduce() const {
    std::vector<Steps> all;
    const bool many = owners_are_many();
    const Chunk kept = free_scratch(0);
    const Chunk own = rank_ == root_ && !many ? output(0) : kept;
    if (!many) shares_inside(all, Collective::reduce, input(0), own, 0);
    shares_across(all, alone() || many ? input(0) : own, many ? kept : output(0), first_free() + 1,
                  levels_);
    for (int share = 0; many && share < shares_; ++share)
      inside(all, Collective::reduce, span(share), first(),
             owner(share) == index_ ? kept : input(0), output(0), levels_ + phases(across_));
    return in_order(std::move(all));
  }

  static Layout layout(const Composition& composition, const Hosts& hosts) {
    const Algorithm& across = *composition.across;
    const int pieces = is_vector(across.collective) ? pieces_of(across, hosts) : 1;
    return make_layout(across.collective, hosts.ranks(),
                       composition.shares(hosts) * across.cut.lanes * pieces);
  }
  /// Chunks of one share in one lane.
  static int pieces_of(const Algorithm& across, const Hosts& hosts) {
    return across.cut.by_rank ? hosts.count() : 1;
  }
  static int phases(const Algorithm& row) {
    return static_cast<int>(row.phases.size() - std::ranges::count(row.phases, ""));
  }

 private:
  bool alone() const { return hosts_.size(host_) == 1; }
  /// Behind the scratch slots of what runs inside hosts.
  int first_free() const { return hosts_.largest() + levels_ - 1; }
  Chunk free_scratch(int number) const { return scratch(first_free() + number, 0); }
  /// A share of something that is passed on belongs to a rank at the port of that number, to the
  /// leader if it is there. A host with fewer ranks than shares gives a rank several.
  int owner_in(int host, int share) const {
    if (is_vector(across_.collective) && (shares_ == 1 || across_.cut.passed_on)) {
      const int first = leader(host);
      if (shares_ == 1 || hosts_.port_of(first) == share) return hosts_.index_of(first);
      for (const int rank : hosts_.ranks(host))
        if (hosts_.port_of(rank) == share) return hosts_.index_of(rank);
    }
    return share % hosts_.size(host);
  }
  int owner(int share) const { return owner_in(host_, share); }
  /// Of a collective with a root, in its host: others than the root own shares.
  bool owners_are_many() const { return shares_ > 1 && host_ == hosts_.host_of(root_) && !alone(); }
  int leader(int host) const {
    return host == hosts_.host_of(root_) ? root_ : hosts_.ranks(host).front();
  }

  bool leads() const { return leader(host_) == rank_; }
  /// The leader's place in this host.
  int first() const { return hosts_.index_of(leader(host_)); }

  /// The rank of each host that owns the share.
  std::vector<int> owners(int share) const {
    std::vector<int> all;
    for (int host = 0; host < hosts_.count(); ++host)
      all.push_back(hosts_.ranks(host)[static_cast<std::size_t>(owner_in(host, share))]);
    return all;
  }
  std::vector<int> leaders() const {
    std::vector<int> all;
    for (int host = 0; host < hosts_.count(); ++host) all.push_back(leader(host));
    return all;
  }

  /// A share's chunks in this lane: one run.
  ChunkSpan span(int share) const {
    const int count = pieces_of(across_, hosts_);
    return {(share * across_.cut.lanes + lane_) * count, count};
  }
  /// The same, by the chunks of the algorithm across.
  std::vector<Spans> pieces(int share) const {
    std::vector<Spans> all(
        static_cast<std::size_t>(pieces_of(across_, hosts_) * across_.cut.lanes));
    for (int piece = 0; piece < pieces_of(across_, hosts_); ++piece)
      all[static_cast<std::size_t>(piece * across_.cut.lanes + lane_)] = {
          {span(share).first + piece, 1}};
    return all;
  }

  /// This lane's part of the block of a host's rank; of none, if the host has fewer ranks.
  ChunkSpan block_of(int host, int index) const {
    if (index >= hosts_.size(host)) return {};
    const int rank = hosts_.ranks(host)[static_cast<std::size_t>(index)];
    return {rank * across_.cut.lanes + lane_, 1};
  }
  std::vector<Spans> blocks(int index) const {
    std::vector<Spans> all(static_cast<std::size_t>(hosts_.count() * across_.cut.lanes));
    for (int host = 0; host < hosts_.count(); ++host)
      add(all[static_cast<std::size_t>(host * across_.cut.lanes + lane_)], block_of(host, index));
    return all;
  }
  /// All blocks of each host. Only algorithms of one lane send several at a time.
  std::vector<Spans> blocks_of_hosts() const {
    std::vector<Spans> all(static_cast<std::size_t>(hosts_.count()));
    for (int host = 0; host < hosts_.count(); ++host)
      for (int index = 0; index < hosts_.size(host); ++index)
        add(all[static_cast<std::size_t>(host)], block_of(host, index));
    return all;
  }
  ChunkSpan everything() const { return {0, total_}; }

  void inside(std::vector<Steps>& all, Collective collective, ChunkSpan chunks, int root,
              Chunk from, Chunk into, int phase) const {
    Part part{.chunks = {{chunks}}, .input = from, .output = into, .phase = phase, .total = total_};
    for (Steps& steps :
         inside_host(std::move(part), {hosts_, rank_, root, most_}, collective, composition_))
      all.push_back(std::move(steps));
  }
  /// Each share to its owner, or from it.
  void shares_inside(std::vector<Steps>& all, Collective collective, Chunk from, Chunk into,
                     int phase) const {
    for (int share = 0; share < shares_; ++share)
      inside(all, collective, span(share), owner(share), from, into, phase);
  }
  /// Those that this rank owns.
  void shares_across(std::vector<Steps>& all, Chunk from, Chunk into, int first_scratch,
                     int phase) const {
    for (int share = 0; share < shares_; ++share)
      if (owner(share) == index_)
        across(all, owners(share), pieces(share), from, into, first_scratch, phase);
  }
  /// Between the leader and the owners of this host's blocks.
  void blocks_inside(std::vector<Steps>& all, Collective collective, std::string_view algorithm,
                     Chunk from, Chunk into, int phase) const {
    if (alone()) return;
    Part part{.ranks = hosts_.ranks(host_),
              .input = from,
              .output = into,
              .phase = phase,
              .total = total_};
    for (int index = 0; index < hosts_.size(host_); ++index)
      part.chunks.push_back({block_of(host_, index)});
    all.push_back(embedded(
        std::move(part),
        find_algorithm(collective, algorithm)->steps({index_, hosts_.size(host_), first(), 0, 1})));
  }
  void across(std::vector<Steps>& all, std::vector<int> ranks, std::vector<Spans> chunks,
              Chunk from, Chunk into, int first_scratch, int phase) const {
    const int root = hosts_.host_of(root_);
    all.push_back(embedded({.ranks = std::move(ranks),
                            .chunks = std::move(chunks),
                            .input = from,
                            .output = into,
                            .first_scratch = first_scratch,
                            .phase = phase,
                            .total = total_},
                           across_.steps({host_, hosts_.count(), root, lane_, across_.cut.lanes})));
  }

  const Composition& composition_;
  const Algorithm& across_;
  const Hosts& hosts_;
  int rank_;
  int root_;
  int lane_;
  int most_;
  int total_;
  int host_;
  int index_;
  int shares_;
  int levels_;  ///< inside hosts
};

/// Of the collectives whose blocks or vectors go through one rank of a host, or through shares.
Steps steps_of(const Place& place, const Composition& composition) {
  const bool by_leaders = composition.by_leaders();
  switch (composition.across->collective) {
    case Collective::reduce_scatter:
      return by_leaders ? place.reduce_scatter_by_leaders() : place.reduce_scatter();
    case Collective::all_gather:
      return by_leaders ? place.all_gather_by_leaders() : place.all_gather();
    case Collective::broadcast:
      return place.broadcast();
    case Collective::reduce:
      return place.reduce();
    case Collective::gather:
      return place.gather();
    case Collective::scatter:
      return place.scatter();
    default:
      return place.all_reduce();
  }
}

std::vector<std::string> phase_names(const Composition& composition, const Hosts& hosts) {
  std::vector<std::string> names;
  InsideCollectives inside = composition.inside_collectives();
  const Collective whole = composition.across->collective;
  if (info(whole).has_root && composition.shares(hosts) > 1) inside = {whole, whole};
  const auto add = [&](std::string_view what, std::string_view where) {
    if (!what.empty()) names.push_back(std::string(what) + " " + std::string(where));
  };
  const auto add_inside = [&](std::optional<Collective> what) {
    if (what)
      for (const std::string_view where : places_inside(composition, *what))
        add(name(*what), where);
  };
  add_inside(inside.before);
  for (const std::string_view phase : composition.across->phases) add(phase, "across hosts");
  add_inside(inside.after);
  return names;
}

}  // namespace

Schedule build_hierarchical(const Composition& composition, const Topology& topology, int root) {
  const auto hosts = std::make_shared<const Hosts>(topology);
  const Algorithm& across = *composition.across;
  return {.collective = across.collective,
          .algorithm = composition.name(),
          .ranks = topology.ranks,
          .root = root,
          .lanes = across.cut.lanes,
          .layout = Place::layout(composition, *hosts),
          .phases = phase_names(composition, *hosts),
          .steps = [composition, hosts, root, most = composition.longest_message(topology, root)](
                       int rank, int lane) {
            return composition.across->collective == Collective::all_to_all
                       ? hierarchical_all_to_all(composition, hosts, rank)
                       : steps_of(Place(composition, *hosts, rank, root, lane, most), composition);
          }};
}

}  // namespace rondo
