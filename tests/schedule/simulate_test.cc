// Clocks against closed forms.
#include "core/schedule/simulate.h"

#include <utility>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/schedule/handmade.h"

using namespace rondo;
using handmade::listed;
using handmade::Lists;

namespace {

constexpr double alpha = 3e-6;
constexpr double beta = 1e-9;
constexpr double gamma_cost = 2e-10;
const Costs costs{.alpha = alpha, .beta = beta, .gamma = gamma_cost};

/// The root sends `parts` chunks down a line of ranks.
Schedule chain(int ranks, int parts) {
  Lists steps(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    for (int part = 0; part < parts; ++part) {
      std::vector<Step>& own = steps[static_cast<std::size_t>(rank)];
      own.push_back(rank == 0 ? copy(input(part), output(part)) : receive(rank - 1, output(part)));
      if (rank + 1 < ranks) own.push_back(send(rank + 1, output(part)));
    }
  return listed(Collective::broadcast, parts, steps);
}

Schedule gather(int ranks) {
  Lists steps(static_cast<std::size_t>(ranks));
  steps[0].push_back(copy(input(0), output(0)));
  for (int rank = 1; rank < ranks; ++rank) {
    steps[0].push_back(receive(rank, output(rank)));
    steps[static_cast<std::size_t>(rank)].push_back(send(0, input(rank)));
  }
  return listed(Collective::gather, 1, steps);
}

}  // namespace

TEST_CASE("a ring all-reduce takes 2(P-1)(alpha + N/P beta) + (P-1) N/P gamma") {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    const double bytes = 1e6;
    const Simulation simulation = simulate(handmade::ring(ranks), bytes, costs);
    const double share = bytes / ranks;
    for (const RankCost& rank : simulation.ranks) {
      CHECK(rank.seconds ==
            Approx(2 * (ranks - 1) * (alpha + share * beta) + (ranks - 1) * share * gamma_cost)
                .epsilon(1e-12));
      CHECK(rank.messages == static_cast<std::uint64_t>(2 * (ranks - 1)));
      CHECK(rank.sent == Approx(2 * (ranks - 1) * share));
      CHECK(rank.received == Approx(rank.sent));
      CHECK(rank.reduced == Approx((ranks - 1) * share));
    }
  }
}

TEST_CASE("a switch lets senders go on while the receiver's port is busy") {
  // All others send to rank 0 at once. Its port takes one after the other. Theirs are soon free.
  const double bytes = 1e6;
  Costs switched = costs;
  switched.ports = Ports::switched;
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Simulation simulation = simulate(gather(ranks), bytes * ranks, switched);
    CHECK(simulation.ranks[0].seconds == Approx(alpha + (ranks - 1) * bytes * beta));
  }
  // A ring keeps every port busy with a switch or without one, so the formula is the same.
  for (int ranks = 2; ranks <= 9; ++ranks) {
    CHECK(simulate(handmade::ring(ranks), bytes, switched).busiest().seconds ==
          Approx(simulate(handmade::ring(ranks), bytes, costs).busiest().seconds));
  }
}

TEST_CASE("without a switch a sender waits for its receiver's port, with one it does not") {
  Lists steps(4);
  steps[0] = {send(1, input(0))};
  steps[1] = {receive(0, output(0)), receive(2, output(0))};
  steps[2] = {send(1, input(0)), send(3, input(0))};
  steps[3] = {receive(2, output(0))};
  const Schedule schedule = listed(Collective::all_reduce, 1, steps);
  const auto ends = [&](Ports ports) {
    const Simulation simulation = simulate(schedule, 1, {.beta = 1, .ports = ports});
    return std::pair(simulation.ranks[1].seconds, simulation.ranks[3].seconds);
  };
  CHECK(ends(Ports::switched) == std::pair(2.0, 2.0));
  CHECK(ends(Ports::one) == std::pair(2.0, 3.0));
}

TEST_CASE("a pipelined chain of k chunks takes (P - 2 + k)(alpha + N/k beta)") {
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (int parts = 1; parts <= 8; ++parts)
      CHECK(simulate(chain(ranks, parts), 1e6, costs).busiest().seconds ==
            Approx((ranks - 2 + parts) * (alpha + 1e6 / parts * beta)));
}

TEST_CASE("senders share the receiver's port") {
  for (int ranks = 2; ranks <= 9; ++ranks)
    CHECK(simulate(gather(ranks), 9e5, costs).busiest().seconds ==
          Approx((ranks - 1) * (alpha + 9e5 / ranks * beta)));
  const CostCounts counts = count(gather(9));
  CHECK(counts.rounds == 8);
  CHECK(counts.hops == 1);
  CHECK(counts.messages == 1);
  CHECK(counts.received == Approx(8.0 / 9));
}

TEST_CASE("lanes share a port unless told otherwise") {
  Schedule two = listed(Collective::send_recv, 2, {{}, {}});
  two.lanes = 2;
  two = handmade::with(
      two,
      {{send(1, input(0))}, {send(1, input(1))}, {receive(0, output(0))}, {receive(0, output(1))}});
  const double half = alpha + 500 * beta;
  Costs apart = costs;
  apart.ports = Ports::per_lane;
  CHECK(simulate(two, 1000, costs).busiest().seconds == Approx(2 * half));
  CHECK(simulate(two, 1000, apart).busiest().seconds == Approx(half));
}

TEST_CASE("chunk sizes of a real partition count") {
  const Schedule ring = handmade::ring(3);
  const Partition partition(ring.layout, 4, 4);  // 1 + 1 + 2 elements
  const Simulation simulation =
      simulate(ring, partition, 4, {.beta = 1, .ports = Ports::unlimited});
  CHECK(simulation.ranks[0].sent + simulation.ranks[1].sent + simulation.ranks[2].sent ==
        2 * 2 * 16);
  CHECK(simulation.busiest().sent > 4 * 16.0 / 3);
}

TEST_CASE("counts in units of N") {
  const CostCounts counts = count(handmade::ring(8));
  CHECK(counts.rounds == 14);
  CHECK(counts.hops == 14);
  CHECK(counts.sent == Approx(14.0 / 8));
  CHECK(counts.reduced == Approx(7.0 / 8));
}

TEST_CASE("a stuck schedule cannot be simulated") {
  CHECK_THROWS_AS(
      simulate(listed(Collective::broadcast, 1, {{}, {receive(0, output(0))}}), 1, costs), Error);
}

TEST_CASE("a chain in k slices takes (P - 1) alpha + (P - 2 + k) N/k beta: alpha is on the way") {
  for (const int ranks : {2, 3, 8}) {
    for (const int slices : {2, 7, 64}) {
      Costs sliced = costs;
      sliced.slices = slices;
      const Simulation simulation = simulate(chain(ranks, 1), 1e6, sliced);
      const RankCost busiest = simulation.busiest();
      CHECK(
          busiest.seconds ==
          Approx((ranks - 1) * alpha + (ranks - 2 + slices) * 1e6 / slices * beta).epsilon(1e-12));
      CHECK(busiest.messages == 1);
      CHECK(busiest.sent == Approx(1e6));
    }
  }
}

TEST_CASE("a ring in slices is never faster than its bytes, nor slower than whole messages") {
  for (const int ranks : {2, 4, 7}) {
    Costs sliced = costs;
    sliced.slices = 16;
    const double whole = simulate(handmade::ring(ranks), 1e6, costs).busiest().seconds;
    const double cut = simulate(handmade::ring(ranks), 1e6, sliced).busiest().seconds;
    CHECK(cut >= 2 * (ranks - 1) * 1e6 / ranks * beta);
    CHECK(cut < whole);
  }
}

TEST_CASE("a receiver that is idle copies out what a sender still copies in") {
  const double copy = 4e-10;
  for (const int ranks : {2, 5}) {
    for (const double overlap : {0.0, 0.25, 1.0}) {
      Costs own{.alpha = alpha, .ports = Ports::unlimited, .copy = copy, .forward = copy};
      own.overlap = overlap;
      CHECK(simulate(chain(ranks, 1), 1e6, own).busiest().seconds ==
            Approx((ranks - 1) * (alpha + (2 - overlap) * 1e6 * copy)).epsilon(1e-12));
      // Round a ring all ranks send first: no rank is idle.
      CHECK(simulate(handmade::ring(ranks), 1e6, own).busiest().seconds ==
            Approx(2 * (ranks - 1) * (alpha + 2 * 1e6 / ranks * copy)).epsilon(1e-12));
    }
  }
}

TEST_CASE("processors move the bytes: ranks that share one take turns") {
  const double copy = 4e-10;
  for (const int ranks : {2, 4, 8}) {
    const Schedule ring = handmade::ring(ranks);
    // Everybody copies 2(P-1)/P N out and as much in, and adds (P-1)/P N.
    const double work = 2 * 2 * (ranks - 1) * 1e6 / ranks * copy;
    const double adding = (ranks - 1) * 1e6 / ranks * gamma_cost;
    Costs own{.alpha = alpha,
              .gamma = gamma_cost,
              .ports = Ports::unlimited,
              .copy = copy,
              .forward = copy};
    CHECK(simulate(ring, 1e6, own).busiest().seconds ==
          Approx(work + adding + 2 * (ranks - 1) * alpha).epsilon(1e-12));
    own.forward = copy / 2;  // of the 2(P-1) messages all but the first
    CHECK(simulate(ring, 1e6, own).busiest().seconds ==
          Approx(work + adding + 2 * (ranks - 1) * alpha -
                 (2 * (ranks - 1) - 1) * 1e6 / ranks * copy / 2)
              .epsilon(1e-12));
    own.forward = copy;
    own.processors = 1;
    own.alpha = 0;
    CHECK(simulate(ring, 1e6, own).busiest().seconds ==
          Approx(ranks * (work + adding)).epsilon(1e-12));
  }
}
