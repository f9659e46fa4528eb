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
//
// Share or block j of a host with L ranks belongs to its rank j mod L. An all_reduce has as many
// shares as the largest host has ranks if the algorithm across cuts the vector by ranks. Else
// latency decides, and one rank of each host has all of it.
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

namespace rondo {
namespace {

/// What an algorithm that runs on some of the ranks calls by its own names.
struct Part {
  std::vector<int> ranks{};         ///< by the part's ranks
  std::vector<ChunkSpan> chunks{};  ///< of the whole, by the part's chunks; empty: not there
  Chunk input{};                    ///< the buffers and scratch slots
  Chunk output{};
  int first_scratch = 0;
  int phase = 0;
};

Chunk in(const Part& part, const Chunk& chunk, ChunkSpan span) {
  Chunk made = chunk;
  if (chunk.buffer == Buffer::input) made = part.input;
  if (chunk.buffer == Buffer::output) made = part.output;
  if (chunk.buffer == Buffer::scratch)
    made.slot = static_cast<std::uint16_t>(chunk.slot + part.first_scratch);
  made.first = static_cast<std::uint32_t>(span.first);
  made.count = static_cast<std::uint32_t>(span.count);
  return made;
}

/// A run of the part's chunks as runs of the whole's: several where it wraps, or where blocks are
/// not there.
std::vector<ChunkSpan> spans_of(const Part& part, const Chunk& run) {
  std::vector<ChunkSpan> spans;
  for (std::uint32_t i = 0; i < run.count; ++i) {
    const ChunkSpan span = part.chunks[(run.first + i) % part.chunks.size()];
    if (span.count == 0) continue;
    if (!spans.empty() && spans.back().first + spans.back().count == span.first) {
      spans.back().count += span.count;
    } else {
      spans.push_back(span);
    }
  }
  return spans;
}

/// The part's steps as steps of the whole. A run that is not one in the whole takes several.
Steps embedded(Part part, Steps steps) {
  while (const Step* step = steps.next()) {
    const Step was = *step;
    const bool sends = was.kind == StepKind::send;
    for (const ChunkSpan span : spans_of(part, sends ? was.from : was.into)) {
      Step now = was;
      now.phase = static_cast<std::uint16_t>(was.phase + part.phase);
      if (was.peer >= 0) now.peer = part.ranks[static_cast<std::size_t>(was.peer)];
      now.from = in(part, was.from, span);
      now.into = in(part, was.into, span);
      if (was.kind != StepKind::copy || now.from != now.into) co_yield now;
    }
  }
}

/// The same for a part of one run of chunks, `most` of them at a time. Only the run at hand is in
/// memory: with hundreds of hosts there are hundreds.
Steps in_runs(Part part, int most, const Algorithm& row, RankInLane at) {
  const ChunkSpan all = part.chunks.front();
  for (int done = 0; done < all.count; done += most) {
    part.chunks.front() = {all.first + done, std::min(most, all.count - done)};
    Steps steps = embedded(part, row.steps(at));
    while (const Step* step = steps.next()) co_yield *step;
  }
}

/// One lane of one rank.
class Place {
 public:
  /// `most`: chunks in a message inside a host. It is no longer than those that go across, since all
  /// messages are cut so that the longest fits into a frame, and a wire needs full frames.
  Place(const Composition& composition, const Hosts& hosts, int rank, int root, int lane, int most)
      : across_(*composition.across),
        inside_(composition.inside),
        hosts_(hosts),
        rank_(rank),
        root_(root),
        lane_(lane),
        most_(most),
        host_(hosts.host_of(rank)),
        index_(hosts.index_of(rank)) {}

  Steps all_reduce() const {
    std::vector<Steps> all;
    const Chunk sum = alone() ? input(0) : output(0);
    const int shares = across_.cut.by_rank ? hosts_.largest() : 1;
    for (int share = 0; share < shares; ++share)
      inside(all, Collective::reduce, span(share), owner(share), input(0), output(0), 0);
    for (int share = 0; share < shares; ++share)
      if (owner(share) == index_) across(all, owners(share), pieces(share), sum, output(0), 0, 1);
    for (int share = 0; share < shares; ++share)
      inside(all, Collective::broadcast, span(share), owner(share), output(0), output(0),
             1 + phases(across_));
    return in_order(std::move(all));
  }

  Steps reduce_scatter() const {
    std::vector<Steps> all;
    const Chunk sum = scratch(hosts_.largest(), 0);
    for (int to = 0; to < hosts_.count(); ++to)
      for (int block = 0; block < hosts_.size(to); ++block)
        inside(all, Collective::reduce, block_of(to, block), owner(block), input(0), sum, 0);
    for (int block = index_; block < hosts_.largest(); block += hosts_.size(host_))
      across(all, owners(block), blocks(block), alone() ? input(0) : sum, output(0),
             hosts_.largest() + 1, 1);
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

  Steps broadcast() const {
    std::vector<Steps> all;
    if (leader(host_) == rank_) across(all, leaders(), lanes(), input(0), output(0), 0, 0);
    inside(all, Collective::broadcast, {lane_, 1}, hosts_.index_of(leader(host_)), output(0),
           output(0), phases(across_));
    return in_order(std::move(all));
  }

  Steps reduce() const {
    std::vector<Steps> all;
    const Chunk own = rank_ == root_ ? output(0) : scratch(hosts_.largest(), 0);
    inside(all, Collective::reduce, span(0), hosts_.index_of(leader(host_)), input(0), own, 0);
    if (leader(host_) == rank_)
      across(all, leaders(), pieces(0), alone() ? input(0) : own, output(0), hosts_.largest() + 1,
             1);
    return in_order(std::move(all));
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
  int owner(int share) const { return share % hosts_.size(host_); }
  int leader(int host) const {
    return host == hosts_.host_of(root_) ? root_ : hosts_.ranks(host).front();
  }

  /// The rank of each host that owns the share.
  std::vector<int> owners(int share) const {
    std::vector<int> all;
    for (int host = 0; host < hosts_.count(); ++host)
      all.push_back(hosts_.ranks(host)[static_cast<std::size_t>(share % hosts_.size(host))]);
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
  std::vector<ChunkSpan> pieces(int share) const {
    std::vector<ChunkSpan> all(
        static_cast<std::size_t>(pieces_of(across_, hosts_) * across_.cut.lanes));
    for (int piece = 0; piece < pieces_of(across_, hosts_); ++piece)
      all[static_cast<std::size_t>(piece * across_.cut.lanes + lane_)] = {span(share).first + piece,
                                                                          1};
    return all;
  }
  /// The whole vector's part for each lane.
  std::vector<ChunkSpan> lanes() const {
    std::vector<ChunkSpan> all;
    for (int lane = 0; lane < across_.cut.lanes; ++lane) all.push_back({lane, 1});
    return all;
  }

  /// This lane's part of the block of a host's rank; of none, if the host has fewer ranks.
  ChunkSpan block_of(int host, int index) const {
    if (index >= hosts_.size(host)) return {};
    const int rank = hosts_.ranks(host)[static_cast<std::size_t>(index)];
    return {rank * across_.cut.lanes + lane_, 1};
  }
  std::vector<ChunkSpan> blocks(int index) const {
    std::vector<ChunkSpan> all(static_cast<std::size_t>(hosts_.count() * across_.cut.lanes));
    for (int host = 0; host < hosts_.count(); ++host)
      all[static_cast<std::size_t>(host * across_.cut.lanes + lane_)] = block_of(host, index);
    return all;
  }

  void inside(std::vector<Steps>& all, Collective collective, ChunkSpan chunks, int root,
              Chunk from, Chunk into, int phase) const {
    if (alone()) return;
    all.push_back(in_runs({hosts_.ranks(host_), {chunks}, from, into, 0, phase}, most_,
                          *find_algorithm(collective, inside_),
                          {index_, hosts_.size(host_), root, 0, 1}));
  }
  void across(std::vector<Steps>& all, std::vector<int> ranks, std::vector<ChunkSpan> chunks,
              Chunk from, Chunk into, int first_scratch, int phase) const {
    const int root = hosts_.host_of(root_);
    all.push_back(embedded({std::move(ranks), std::move(chunks), from, into, first_scratch, phase},
                           across_.steps({host_, hosts_.count(), root, lane_, across_.cut.lanes})));
  }

  const Algorithm& across_;
  std::string_view inside_;
  const Hosts& hosts_;
  int rank_;
  int root_;
  int lane_;
  int most_;
  int host_;
  int index_;
};

Steps steps_of(const Place& place, Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return place.all_reduce();
    case Collective::reduce_scatter:
      return place.reduce_scatter();
    case Collective::all_gather:
      return place.all_gather();
    case Collective::reduce:
      return place.reduce();
    default:
      return place.broadcast();
  }
}

std::vector<std::string> phase_names(const Composition& composition) {
  const Collective collective = composition.across->collective;
  const bool gathers = collective == Collective::all_gather || collective == Collective::broadcast;
  std::vector<std::string> names;
  if (!gathers) names.emplace_back("reduce inside hosts");
  for (const std::string_view phase : composition.across->phases)
    if (!phase.empty()) names.push_back(std::string(phase) + " across hosts");
  if (gathers || collective == Collective::all_reduce) names.emplace_back("broadcast inside hosts");
  return names;
}

}  // namespace

Schedule build_hierarchical(const Composition& composition, const Topology& topology, int root) {
  const auto hosts = std::make_shared<const Hosts>(topology);
  const Algorithm& across = *composition.across;
  const bool in_shares = across.collective == Collective::all_reduce && across.cut.by_rank;
  const int chunks = is_vector(across.collective) ? Place::pieces_of(across, *hosts) : 1;
  const int parts = (in_shares ? hosts->largest() : 1) * across.cut.lanes * chunks;
  return {.collective = across.collective,
          .algorithm = composition.name(),
          .ranks = topology.ranks,
          .root = root,
          .lanes = across.cut.lanes,
          .layout = make_layout(across.collective, topology.ranks, parts),
          .phases = phase_names(composition),
          .steps = [composition, hosts, root, most = composition.longest_message(topology, root)](
                       int rank, int lane) {
            return steps_of(Place(composition, *hosts, rank, root, lane, most),
                            composition.across->collective);
          }};
}

}  // namespace rondo
