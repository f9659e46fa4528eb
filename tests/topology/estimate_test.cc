// Estimates from cost lines against simulations of the steps.
#include "core/plan/estimate.h"

#include "core/schedule/simulate.h"
#include "core/topology/generate.h"
#include "tests/catch.h"

using namespace rondo;

namespace {

Topology alike(int hosts, int ranks) {
  Topology topology =
      on_hosts(std::vector<int>(static_cast<std::size_t>(hosts), ranks), Numbering::by_host);
  topology.hosts.assign(static_cast<std::size_t>(hosts), {.ports = {{.beta = 4e-8}}});
  topology.network_alpha = 2e-5;
  topology.memory = {.alpha = 1e-6, .beta = 2e-10};
  return topology;
}

double simulated(const Composition& composition, double bytes, const Topology& topology) {
  return simulate(composition.build(topology, 0), bytes, {.slices = 16}, topology)
      .busiest()
      .seconds;
}

}  // namespace

TEST_CASE("a ring with one rank on each host takes what the formula says") {
  const Topology topology = alike(5, 1);
  const Composition ring = find_composition(Collective::all_reduce, "ring");
  const double bytes = 1e6;
  const double wanted = 8 * topology.network_alpha + bytes * (1.6 * 4e-8 + 0.8 * topology.gamma);
  CHECK(Estimates(topology).seconds(ring, bytes) == Approx(wanted));
}

TEST_CASE("large calls of compositions take what the ports take") {
  const Topology topology = alike(3, 4);
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    const Composition rings = find_composition(collective, "hierarchical(ring,ring)");
    CAPTURE(rings.name(), name(collective));
    const double bytes = 64e6;
    const double sent = collective == Collective::all_reduce ? 4.0 / 3 : 2.0 / 3;
    CHECK(Estimates(topology).seconds(rings, bytes) == Approx(bytes * sent * 4e-8).epsilon(0.02));
    CHECK(simulated(rings, bytes, topology) == Approx(bytes * sent * 4e-8).epsilon(0.08));
  }
}

TEST_CASE("estimates order the compositions much as simulations do") {
  const Topology topology = alike(4, 4);
  for (const double bytes : {64.0, 16e6}) {
    double best = 1e9;
    double best_estimate = 1e9;
    Composition chosen{};
    for (const Composition& each : hierarchical_compositions(Collective::all_reduce)) {
      best = std::min(best, simulated(each, bytes, topology));
      const double estimate = Estimates(topology).seconds(each, bytes);
      if (estimate < best_estimate) chosen = each;
      best_estimate = std::min(best_estimate, estimate);
    }
    CAPTURE(bytes, chosen.name());
    CHECK(simulated(chosen, bytes, topology) < 1.25 * best);
  }
}
