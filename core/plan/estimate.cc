#include "core/plan/estimate.h"

#include <algorithm>
#include <utility>

#include "core/schedule/collective.h"
#include "core/schedule/formula.h"

namespace rondo {
namespace {

/// The part of alpha for which a message occupies its sender. The rest is time on the way.
constexpr double busy = 0.25;

struct Counts {
  double alphas = 0;   ///< of messages one after the other, and of what else a rank sends
  double sent = 0;     ///< in the whole index space
  double reduced = 0;  ///< likewise
};

Counts counts_of(const Algorithm& row, int ranks) {
  if (ranks < 2) return {};
  const Variables variables = cost_variables(ranks);
  const auto value = [&](std::string_view formula) {
    return formula.empty() ? 0 : evaluate(formula, variables);
  };
  const double hops = value(row.cost.hops);
  return {hops + busy * std::max(0.0, value(row.cost.rounds) - hops), value(row.cost.sent),
          value(row.cost.reduced)};
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

double one_level(const Algorithm& row, double bytes, const Topology& topology, const Hosts& hosts) {
  const Counts counts = counts_of(row, topology.ranks);
  const bool leaves = hosts.count() > 1;
  const double alpha = leaves ? topology.network_alpha : topology.memory.alpha;
  const double beta = leaves ? beta_of_hosts(topology) * hosts.largest() : topology.memory.beta;
  return counts.alphas * alpha + bytes * (counts.sent * beta + counts.reduced * topology.gamma);
}

/// Whether the ranks of a host share the work, or one of them has all of it.
bool is_shared(const Algorithm& across) {
  const bool in_blocks = !is_vector(across.collective);
  return in_blocks || (across.collective == Collective::all_reduce && across.cut.by_rank);
}

/// Of reduce and of broadcast, as the collective needs. All ranks of a host together send and
/// reduce as much in either, whatever the algorithm.
Counts counts_inside(const Composition& composition, int ranks) {
  const CollectiveInfo& collective = info(composition.across->collective);
  const bool gathers = !collective.reduces || collective.collective == Collective::all_reduce;
  const double shared = is_shared(*composition.across) ? ranks : 0;
  Counts sum;
  for (const auto& [runs, what] : {std::pair(collective.reduces, Collective::reduce),
                                   std::pair(gathers, Collective::broadcast)}) {
    if (!runs || ranks < 2) continue;
    const bool adds = what == Collective::reduce;
    const Counts one = counts_of(*find_algorithm(what, composition.inside), ranks);
    sum.alphas += shared > 0 ? std::max(one.alphas, busy * (shared - 1)) : one.alphas;
    sum.sent += shared > 0 ? (shared - 1) / shared : one.sent;
    sum.reduced += !adds ? 0 : shared > 0 ? (shared - 1) / shared : one.reduced;
  }
  return sum;
}

double two_levels(const Composition& composition, double bytes, const Topology& topology,
                  const Hosts& hosts) {
  const Counts across = counts_of(*composition.across, hosts.count());
  const Counts inside = counts_inside(composition, hosts.largest());
  const double latency =
      across.alphas * topology.network_alpha + inside.alphas * topology.memory.alpha;
  const double on_wires = across.sent * beta_of_hosts(topology) + across.reduced * topology.gamma;
  const double in_memory = inside.sent * topology.memory.beta + inside.reduced * topology.gamma;
  return latency + bytes * std::max(on_wires, in_memory);
}

}  // namespace

double estimate_seconds(const Composition& composition, double bytes, const Topology& topology) {
  const Hosts hosts(topology);
  return composition.inside.empty() ? one_level(*composition.across, bytes, topology, hosts)
                                    : two_levels(composition, bytes, topology, hosts);
}

}  // namespace rondo
