#include "core/plan/estimate.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/plan/cut.h"
#include "core/schedule/collective.h"
#include "core/schedule/formula.h"
#include "core/schedule/simulate.h"

namespace rondo {
namespace {

/// Of a program's time for a collective with a root, so much is time on the way to the last rank. The
/// rest is the busiest rank's: calls in a loop overlap, but a program waits for some of them.
constexpr double waited_for = 0.25;

/// Of alpha, what a message keeps a host's ports and its kernel busy: the host's ranks queue there.
constexpr double queued_for = 0.125;

/// Slices overlap what goes on inside hosts with what goes on across, but for so much of the shorter.
constexpr double not_hidden = 0.25;

/// Whether some ranks begin the next call of a loop while others are in this one.
bool overlap(Collective collective) { return info(collective).has_root || is_scan(collective); }

/// What one part of a collective counts, in units of its links' costs.
struct PartCounts {
  double alphas = 0;   ///< of the busiest rank's messages: half at either end of each
  double hops = 0;     ///< messages of which each needs the one before
  double moved = 0;    ///< bytes out, or in where that is more, in the whole index space
  double reduced = 0;  ///< likewise
  double awaited = 0;  ///< whole vectors that ranks on the way to the last one get first
};

/// `overlapping`: calls of the whole collective overlap.
PartCounts counts_of(const Algorithm& row, int ranks, bool overlapping) {
  if (ranks < 2) return {};
  const Variables variables = cost_variables(ranks);
  const auto value = [&](std::string_view formula) {
    return formula.empty() ? 0 : evaluate(formula, variables);
  };
  const double reduced = value(row.cost.reduced);  // as much comes in at least
  PartCounts counts{value(row.cost.rounds), value(row.cost.hops),
                    std::max(value(row.cost.sent), reduced), reduced};
  const bool whole = is_vector(row.collective) && !row.cut.by_rank;
  if (whole) counts.awaited = std::max(0.0, counts.hops - (overlapping ? 1 : counts.moved));
  if (overlapping) {
    // A root of pieces gets all of them, some after they were reduced.
    if (row.cut.by_rank) counts.moved = std::max(counts.moved, counts.alphas / ranks);
    const double messages = whole ? counts.moved * row.cut.lanes : counts.alphas;
    counts.alphas = (messages + row.cut.lanes) / 2;
  }
  return counts;
}

/// What a part of a collective takes, in seconds.
struct PartSeconds {
  double messages = 0;
  double bytes = 0;
  double to_last = 0;   ///< of the first bytes to the last rank
  double awaiting = 0;  ///< of it, for these bytes rather than messages
};

PartSeconds seconds_of(const PartCounts& counts, double bytes, const LinkCosts& link,
                       double gamma) {
  const double frame = std::min(bytes, static_cast<double>(shortest_frame_bytes));
  const double awaiting = counts.awaited * frame * link.beta;
  return {counts.alphas * link.alpha, bytes * (counts.moved * link.beta + counts.reduced * gamma),
          counts.hops * link.alpha + awaiting, awaiting};
}

/// What such a message costs, in alphas, where so many ranks of a host send at once.
double queueing(int senders) { return 1 + queued_for * (senders - 1); }

/// Whether each rank only sends to its neighbours in the order of ranks.
bool sends_to_neighbours_only(const Algorithm& row) {
  constexpr std::array<std::string_view, 3> names{"ring", "bidirectional_ring", "chain"};
  return std::ranges::find(names, row.name) != names.end();
}

/// Ranks of a host whose neighbour is on another one, at most.
int most_outwards(const Hosts& hosts) {
  std::vector<int> outwards(static_cast<std::size_t>(hosts.count()));
  for (int rank = 0; rank < hosts.ranks(); ++rank) {
    const int here = hosts.host_of(rank);
    if (here != hosts.host_of((rank + 1) % hosts.ranks()))
      ++outwards[static_cast<std::size_t>(here)];
  }
  return *std::ranges::max_element(outwards);
}

/// Seconds a byte out of a host, by all its ports at once; of the slowest host.
double beta_of_hosts(const Topology& topology) {
  double slowest = topology.hosts.empty() ? default_port_beta : 0;
  for (const Host& host : topology.hosts) {
    double speed = host.ports.empty() ? 1 / default_port_beta : 0;
    for (const Port& port : host.ports) speed += 1 / beta_of(port);
    slowest = std::max(slowest, 1 / speed);
  }
  return slowest;
}

/// What a rank's part of a collective inside its host costs. The ranks of a host that share the work
/// take turns as roots, so each sends and reduces as much, and all at once.
PartCounts counts_inside(const Composition& composition, Collective what, int ranks) {
  // Around vectors, blocks go straight inside a host, see hierarchical.cc.
  const bool named = is_vector(what) || what == composition.across->collective;
  const PartCounts one = counts_of(*find_algorithm(what, named ? composition.inside : "linear"),
                                   ranks, overlap(composition.across->collective));
  if (composition.by_leaders()) return one;
  const double others = ranks - 1.0;
  return {others, one.hops, others / ranks, info(what).reduces ? others / ranks : 0};
}

/// `shares`: parts of a vector with leaders of their own. A root deals with each in turn. Elsewhere
/// each leader does the work for one, and hands over or gets the others.
PartCounts in_shares(PartCounts one, int shares, bool has_root) {
  one.alphas = has_root ? one.alphas * shares : one.alphas + shares - 1;
  if (has_root) return one;
  one.moved = (one.moved + shares - 1) / shares;
  one.reduced /= shares;
  return one;
}

PartCounts counts_inside(const Composition& composition, const Hosts& all) {
  const int ranks = all.largest();
  const int hosts = all.count();
  const int shares = composition.by_leaders() ? composition.shares(all) : 1;
  const bool has_root = info(composition.across->collective).has_root;
  PartCounts sum;
  const InsideCollectives inside = composition.inside_collectives();
  for (const std::optional<Collective>* const each : {&inside.before, &inside.after}) {
    const std::optional<Collective>& what = *each;
    if (!what || ranks < 2) continue;
    const PartCounts one = in_shares(counts_inside(composition, *what, ranks), shares, has_root);
    const bool last_of_all_to_all = *what == Collective::all_to_all && &what == &inside.after;
    const bool own_blocks =
        *what == Collective::gather || *what == Collective::scatter || last_of_all_to_all;
    sum.alphas += one.alphas;
    sum.hops += one.hops;
    sum.moved += own_blocks ? one.moved / hosts : one.moved;
    sum.reduced += one.reduced;
    sum.awaited += one.awaited;
  }
  return sum;
}

}  // namespace

Estimates::Estimates(const Topology& topology)
    : topology_(topology),
      hosts_(topology),
      smallest_(hosts_.largest()),
      outwards_(most_outwards(hosts_)),
      memory_(topology.memory),
      network_{topology.network_alpha, beta_of_hosts(topology)},
      gamma_(topology.gamma) {
  for (int host = 0; host < hosts_.count(); ++host) {
    const int here = hosts_.size(host);
    smallest_ = std::min(smallest_, here);
    most_leaving_ = std::max(most_leaving_, static_cast<double>(here) * (hosts_.ranks() - here));
  }
}

Estimate Estimates::of(const Composition& composition, double bytes) const {
  if (composition.written) return simulated(composition.written, bytes);
  return composition.inside.empty() ? one_level(*composition.across, bytes)
                                    : two_levels(composition, bytes);
}

/// Of a link out of a host which so many of its ranks use, at once; each uses one port. `fewest`: of
/// the ranks that use it, on any host.
LinkCosts Estimates::shared(int senders, int fewest, int sharing) const {
  const double used = std::min(fewest, hosts_.ports());
  return {network_.alpha * queueing(senders), network_.beta * sharing * hosts_.ports() / used};
}

Estimate Estimates::simulated(const Script& written, double bytes) const {
  const Schedule schedule = written.build_right(topology_, written.only_root(topology_));
  return {.seconds = simulate(schedule, bytes, Costs{}, topology_).busiest().seconds,
          .hops = count(schedule).hops};
}

Estimate Estimates::one_level(const Algorithm& row, double bytes) const {
  const bool overlapping = overlap(row.collective);
  PartCounts counts = counts_of(row, hosts_.ranks(), overlapping);
  const bool neighbours_only = sends_to_neighbours_only(row);
  const int sharing = neighbours_only ? outwards_ : hosts_.largest();
  LinkCosts link = hosts_.count() == 1 ? memory_ : shared(sharing, sharing, sharing);
  if (hosts_.count() > 1 && row.collective == Collective::all_to_all) {
    // Here what stays on the host is known. A rank alone on its host queues with nobody, but all its
    // messages leave.
    counts.moved *= (hosts_.ranks() - hosts_.largest()) / (hosts_.ranks() - 1.0);
    const auto leaving = [&](int size) { return (hosts_.ranks() - size) * queueing(size); };
    if (!row.cut.bundled) {
      counts.alphas = std::max(leaving(smallest_), leaving(hosts_.largest()));
      link.alpha = network_.alpha;
    }
  }
  const PartSeconds part = seconds_of(counts, bytes, link, gamma_);
  const double seconds = overlapping
                             ? std::max(part.messages, part.bytes) + waited_for * part.to_last
                             : part.messages + part.bytes + part.awaiting;
  return {seconds, counts.hops, part.bytes > part.messages, neighbours_only};
}

Estimate Estimates::two_levels(const Composition& composition, double bytes) const {
  const Collective collective = composition.across->collective;
  const bool overlapping = overlap(collective);
  PartCounts across = counts_of(*composition.across, hosts_.count(), overlapping);
  const PartCounts inside = counts_inside(composition, hosts_);
  const int largest = hosts_.largest();
  // In an all_to_all each rank has bytes for other hosts, elsewhere a host has them once.
  const bool all_to_all = collective == Collective::all_to_all;
  const int shares = composition.shares(hosts_);
  const int senders = composition.by_leaders() ? shares : largest;
  LinkCosts link = shared(senders, std::min(senders, smallest_), all_to_all ? largest : 1);
  if (all_to_all) {
    // A rank of a smaller host sends what several ranks of a larger one do, but queues with fewer.
    const auto leaving = [&](int size) {
      return across.alphas * ((largest + size - 1) / size) * queueing(size);
    };
    across.alphas = std::max(leaving(smallest_), leaving(largest));
    across.moved = most_leaving_ / hosts_.ranks() / largest;
    link.alpha = network_.alpha;
  }
  const PartSeconds out = seconds_of(across, bytes, link, gamma_);
  const PartSeconds in = seconds_of(inside, bytes, memory_, gamma_);
  // Inside the root's host shares go to their owners first, or come from them last.
  const double to_last = out.to_last + in.to_last * (shares > 1 ? 2 : 1);
  const double messages = out.messages + in.messages;
  const double moving = std::max(out.bytes, in.bytes) + not_hidden * std::min(out.bytes, in.bytes);
  const double seconds = overlapping ? std::max(messages, moving) + waited_for * to_last
                                     : messages + moving + out.awaiting + in.awaiting;
  return {seconds, across.hops + inside.hops, moving > messages,
          sends_to_neighbours_only(*composition.across)};
}

}  // namespace rondo
