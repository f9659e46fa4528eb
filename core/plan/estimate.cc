#include "core/plan/estimate.h"

#include <algorithm>
#include <optional>

#include "core/plan/cut.h"
#include "core/schedule/collective.h"
#include "core/schedule/formula.h"

namespace rondo {
namespace {

/// The part of alpha for which a message occupies its sender. The rest is time on the way.
constexpr double busy = 0.25;

struct CostCounts {
  double alphas = 0;   ///< of messages one after the other, and of what else a rank sends
  double sent = 0;     ///< in the whole index space
  double reduced = 0;  ///< likewise
  double passed = 0;   ///< whole vectors that ranks on the way have to get first
};

CostCounts counts_of(const Algorithm& row, int ranks) {
  if (ranks < 2) return {};
  const Variables variables = cost_variables(ranks);
  const auto value = [&](std::string_view formula) {
    return formula.empty() ? 0 : evaluate(formula, variables);
  };
  const double hops = value(row.cost.hops);
  const double sent = value(row.cost.sent);
  const bool whole = is_vector(row.collective) && !row.cut.by_rank;
  return {hops + busy * std::max(0.0, value(row.cost.rounds) - hops), sent, value(row.cost.reduced),
          whole ? std::max(0.0, hops - sent) : 0};
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

/// Bytes that `counts` takes on links of this beta.
double seconds_of_bytes(const CostCounts& counts, double bytes, double beta, double gamma) {
  const double frame = std::min(bytes, static_cast<double>(shortest_frame_bytes));
  return bytes * (counts.sent * beta + counts.reduced * gamma) + counts.passed * frame * beta;
}

/// What a rank's part of a collective inside its host costs. The ranks of a host that share the work
/// take turns as roots, so each sends and reduces as much, and all at once.
CostCounts counts_inside(const Composition& composition, Collective what, int ranks) {
  // Around vectors, blocks go straight inside a host, see hierarchical.cc.
  const bool named = is_vector(what) || what == composition.across->collective;
  const CostCounts one =
      counts_of(*find_algorithm(what, named ? composition.inside : "linear"), ranks);
  if (composition.by_leaders()) return one;
  const double others = ranks - 1.0;
  return {std::max(one.alphas, busy * others), others / ranks,
          info(what).reduces ? others / ranks : 0};
}

CostCounts counts_inside(const Composition& composition, int ranks, int hosts) {
  CostCounts sum;
  const InsideCollectives inside = composition.inside_collectives();
  for (const std::optional<Collective>* const each : {&inside.before, &inside.after}) {
    const std::optional<Collective>& what = *each;
    if (!what || ranks < 2) continue;
    const CostCounts one = counts_inside(composition, *what, ranks);
    const bool last_of_all_to_all = *what == Collective::all_to_all && &what == &inside.after;
    const bool own_blocks =
        *what == Collective::gather || *what == Collective::scatter || last_of_all_to_all;
    sum.alphas += one.alphas;
    sum.sent += own_blocks ? one.sent / hosts : one.sent;
    sum.reduced += one.reduced;
    sum.passed += one.passed;
  }
  return sum;
}

}  // namespace

Estimates::Estimates(const Topology& topology)
    : memory_(topology.memory),
      network_{topology.network_alpha, beta_of_hosts(topology)},
      gamma_(topology.gamma) {
  const Hosts hosts(topology);
  ranks_ = hosts.ranks();
  hosts_ = hosts.count();
  largest_ = hosts.largest();
}

double Estimates::seconds(const Composition& composition, double bytes) const {
  return composition.inside.empty() ? one_level(*composition.across, bytes)
                                    : two_levels(composition, bytes);
}

double Estimates::one_level(const Algorithm& row, double bytes) const {
  const CostCounts counts = counts_of(row, ranks_);
  if (hosts_ == 1)
    return counts.alphas * memory_.alpha + seconds_of_bytes(counts, bytes, memory_.beta, gamma_);
  return counts.alphas * network_.alpha +
         seconds_of_bytes(counts, bytes, network_.beta * largest_, gamma_);
}

double Estimates::two_levels(const Composition& composition, double bytes) const {
  const CostCounts across = counts_of(*composition.across, hosts_);
  const CostCounts inside = counts_inside(composition, largest_, hosts_);
  // In an all_to_all each rank has as many bytes for other hosts, elsewhere a host has them once.
  const bool each_rank = composition.across->collective == Collective::all_to_all;
  const double beta = network_.beta * (each_rank ? largest_ : 1);
  return across.alphas * network_.alpha + inside.alphas * memory_.alpha +
         std::max(seconds_of_bytes(across, bytes, beta, gamma_),
                  seconds_of_bytes(inside, bytes, memory_.beta, gamma_));
}

}  // namespace rondo
