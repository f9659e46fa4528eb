// Estimates from cost lines against simulations of the steps.
#include "core/plan/estimate.h"

#include "core/plan/choose.h"
#include "core/schedule/collective.h"
#include "core/schedule/simulate.h"
#include "core/topology/generate.h"
#include "core/topology/measured_costs.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"

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
  CHECK(Estimates(topology).of(ring, bytes).seconds == Approx(wanted));
}

TEST_CASE("measured costs replace the defaults, and only where something was measured") {
  Topology topology = alike(5, 1);
  const Composition ring = find_composition(Collective::all_reduce, "ring");
  const double before = Estimates(topology).of(ring, 64e6).seconds;
  const MeasuredCosts costs = costs_of("network_beta=8e-8,memory_alpha=1e-3");
  set_costs(costs, topology);
  CHECK(to_text(costs) == "memory_alpha=0.001,network_beta=8e-08");
  CHECK(Estimates(topology).of(ring, 64e6).seconds == Approx(2 * before).epsilon(0.02));
  CHECK(topology.memory.alpha == 1e-3);
  CHECK(topology.network_alpha == alike(5, 1).network_alpha);
}

TEST_CASE("large calls of compositions take what the ports take") {
  const Topology topology = alike(3, 4);
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    const Composition rings = find_composition(collective, "hierarchical(ring,ring)");
    CAPTURE(rings.name(), name(collective));
    const double bytes = 64e6;
    const double sent = collective == Collective::all_reduce ? 4.0 / 3 : 2.0 / 3;
    CHECK(Estimates(topology).of(rings, bytes).seconds ==
          Approx(bytes * sent * 4e-8).epsilon(0.02));
    CHECK(simulated(rings, bytes, topology) == Approx(bytes * sent * 4e-8).epsilon(0.08));
  }
}

TEST_CASE("several ports serve several ranks: one that works alone uses one of them") {
  Topology topology = alike(3, 4);
  const auto seconds = [&](Collective collective, std::string_view algorithm) {
    const Composition composition = find_composition(collective, algorithm);
    return Estimates(topology).of(composition, 64e6).seconds;
  };
  const auto looped = [&](Collective collective) {
    const Schedule schedule =
        find_composition(collective, "hierarchical(one_shot,chain)").build(topology, 0);
    return simulate_loop(schedule, 64e6, {.slices = 16}, topology, 3).busiest().seconds;
  };
  const double shared = seconds(Collective::all_reduce, "hierarchical(one_shot,ring)");
  const double by_leaders =
      seconds(Collective::all_reduce, "hierarchical(one_shot,recursive_doubling)");
  const double broadcast = seconds(Collective::broadcast, "hierarchical(one_shot,chain)");
  const double reduce = seconds(Collective::reduce, "hierarchical(one_shot,chain)");
  const double looped_broadcast = looped(Collective::broadcast);
  const double looped_reduce = looped(Collective::reduce);
  for (Host& host : topology.hosts) host.ports.push_back(host.ports.front());
  CHECK(seconds(Collective::all_reduce, "hierarchical(one_shot,ring)") ==
        Approx(shared / 2).epsilon(0.02));
  CHECK(seconds(Collective::all_reduce, "hierarchical(one_shot,recursive_doubling)") ==
        Approx(by_leaders));
  CHECK(seconds(Collective::broadcast, "hierarchical(one_shot,chain)") ==
        Approx(broadcast / 2).epsilon(0.02));
  CHECK(seconds(Collective::reduce, "hierarchical(one_shot,chain)") ==
        Approx(reduce / 2).epsilon(0.02));
  CHECK(looped(Collective::broadcast) == Approx(looped_broadcast / 2).epsilon(0.05));
  CHECK(looped(Collective::reduce) == Approx(looped_reduce / 2).epsilon(0.05));
  topology = alike(3, 4);
  topology.hosts.front().ports.resize(2, topology.hosts.front().ports.front());
  CHECK(seconds(Collective::broadcast, "hierarchical(one_shot,chain)") == Approx(broadcast));
}

TEST_CASE("calls in a loop take what the busiest rank or link takes, if no rank waits for others") {
  const Topology topology = alike(4, 1);
  const double alpha = topology.network_alpha;
  const double bytes = 1e6;
  const double whole = bytes * 4e-8;
  const auto looped = [&](std::string_view algorithm, double size) {
    const Schedule schedule = find_composition(Collective::broadcast, algorithm).build(topology, 0);
    return simulate_loop(schedule, size, {}, topology, 5).busiest().seconds;
  };
  CHECK(looped("chain", bytes) == Approx(whole).epsilon(0.03));
  CHECK(looped("chain", 0) == Approx(alpha));  // of a rank in the middle: in, and out
  CHECK(looped("one_shot", bytes) == Approx(3 * whole).epsilon(0.03));
  CHECK(looped("one_shot", 0) == Approx(1.5 * alpha));
  const Schedule ring = find_composition(Collective::all_reduce, "ring").build(topology, 0);
  const RankCost one = simulate(ring, bytes, {}, topology).busiest();
  const RankCost loop = simulate_loop(ring, bytes, {}, topology, 5).busiest();
  CHECK(loop.seconds == Approx(one.seconds).epsilon(0.03));
  CHECK(loop.sent == one.sent);
  CHECK(loop.messages == one.messages);
  CHECK_THROWS_AS(simulate_loop(ring, bytes, {}, topology, 1), Error);
}

TEST_CASE("the choice by estimates is much what simulations of loops would choose") {
  const auto sizes = GENERATE(as<std::vector<int>>(), std::vector{4, 4}, std::vector{2, 2, 2, 2},
                              std::vector{3, 3, 3}, std::vector{1, 7}, std::vector{2, 2, 1});
  const double bytes = GENERATE(8, 4096, 65536);
  const int ports =
      GENERATE(from_range(test::is_sanitized ? std::vector{2} : std::vector{1, 2, 4}));
  Topology topology = on_hosts(sizes, Numbering::by_host, ports);
  for (Host& host : topology.hosts)
    for (Port& port : host.ports) port.beta = 8e-10;
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
        Collective::broadcast, Collective::reduce, Collective::all_to_all, Collective::barrier}) {
    const double size = is_token(collective) ? 0 : bytes;
    const bool rooted = info(collective).has_root;
    const Composition chosen =
        choose(collective, static_cast<std::size_t>(size), topology, {}).algorithm;
    double best = 1e9;
    double of_chosen = 0;
    std::vector<Composition> all = hierarchical_compositions(collective);
    for (const Algorithm& row : algorithms())
      if (row.collective == collective) all.push_back({.across = &row});
    for (const Composition& each : all) {
      const Schedule schedule = each.build(topology, 0);
      const double one = simulate(schedule, size, {}, topology).busiest().seconds;
      const double loop = simulate_loop(schedule, size, {}, topology, 4).busiest().seconds;
      const double seconds = rooted ? loop + one / 4 : loop;
      best = std::min(best, seconds);
      if (each == chosen) of_chosen = seconds;
    }
    CAPTURE(sizes, size, ports, name(collective), chosen.name(), of_chosen, best);
    CHECK(of_chosen > 0);
    // Estimates count on slices that overlap. With several ports that matters more than with one.
    CHECK(of_chosen < (ports == 1 ? 1.8 : 2.3) * best);
  }
}
