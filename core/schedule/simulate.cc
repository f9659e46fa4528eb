#include "core/schedule/simulate.h"

#include <algorithm>
#include <functional>
#include <string>

#include "core/schedule/collective.h"
#include "core/schedule/machine.h"
#include "rondo/error.h"

namespace rondo {
namespace {

using Size = std::function<double(const Chunk&)>;  ///< bytes of a chunk run

/// The Domain of clocks. A local value has no content; a message is its arrival time and size.
class Clocks {
 public:
  struct Value {
    double arrival = 0;
    double bytes = 0;
  };

  Clocks(const Schedule& header, const Costs& costs, Size size)
      : costs_(costs),
        size_(std::move(size)),
        lanes_(static_cast<std::size_t>(header.lanes)),
        clocks_(static_cast<std::size_t>(header.ranks) * lanes_),
        out_free_(clocks_.size()),
        in_free_(clocks_.size()),
        costs_of_(static_cast<std::size_t>(header.ranks)) {}

  double start(const Site& site, double arrived) const {
    const double now = std::max(arrived, clocks_[index(site.rank, site.lane)]);
    const int peer = site.op->out_peer;
    if (peer < 0 || costs_.ports == Ports::unlimited) return now;
    return std::max({now, out_free_[port(site.rank, site.lane)], in_free_[port(peer, site.lane)]});
  }
  static double arrival(const Value& value) { return value.arrival; }

  static Value read(const Site&, const Chunk&) { return {}; }
  static void write(const Site&, const Chunk&, const Value&) {}

  Value arrive(const Site& site, int, Value message) {
    double& now = clocks_[index(site.rank, site.lane)];
    now = std::max(now, message.arrival);
    cost(site.rank).received += message.bytes;
    return {};
  }

  Value combine(const Site& site, std::span<Value> operands) {
    const double bytes = static_cast<double>(operands.size() - 1) * size_(site.op->extent);
    clocks_[index(site.rank, site.lane)] += bytes * costs_.gamma;
    cost(site.rank).reduced += bytes;
    return {};
  }

  Value depart(const Site& site, int peer, Value) {
    const double bytes = size_(site.op->extent);
    RankCost& own = cost(site.rank);
    ++own.messages;
    own.sent += bytes;
    const double end = start(site, 0) + costs_.alpha + bytes * costs_.beta;
    if (costs_.ports != Ports::unlimited)
      out_free_[port(site.rank, site.lane)] = in_free_[port(peer, site.lane)] = end;
    return {end, bytes};
  }

  Simulation result() const {
    Simulation simulation{costs_of_};
    for (std::size_t i = 0; i < clocks_.size(); ++i) {
      double& seconds = simulation.ranks[i / lanes_].seconds;
      seconds = std::max(seconds, clocks_[i]);
    }
    return simulation;
  }

 private:
  std::size_t index(int rank, int lane) const {
    return static_cast<std::size_t>(rank) * lanes_ + static_cast<std::size_t>(lane);
  }
  std::size_t port(int rank, int lane) const {
    return index(rank, costs_.ports == Ports::per_lane ? lane : 0);
  }
  RankCost& cost(int rank) { return costs_of_[static_cast<std::size_t>(rank)]; }

  Costs costs_;
  Size size_;
  std::size_t lanes_;
  std::vector<double> clocks_;    ///< rank * lanes + lane
  std::vector<double> out_free_;  ///< by port
  std::vector<double> in_free_;
  std::vector<RankCost> costs_of_;
};

Size even(const Schedule& header, double bytes) {
  const double chunk = bytes / header.layout.chunks();
  return [chunk](const Chunk& run) { return chunk * run.count; };
}

void demand_clean(const Outcome& outcome, const Schedule& header) {
  if (outcome.clean()) return;
  throw Error(ErrorCode::internal,
              header.algorithm + " " + std::string(name(header.collective)) +
                  " cannot be simulated: " + describe(outcome, header).front());
}

Simulation simulate_sized(const Schedule& schedule, const Costs& costs, Size size) {
  check_header(schedule);
  Clocks clocks(schedule, costs, std::move(size));
  demand_clean(run(schedule, clocks), schedule);
  return clocks.result();
}

}  // namespace

RankCost Simulation::busiest() const {
  RankCost most;
  for (const RankCost& rank : ranks) {
    most.seconds = std::max(most.seconds, rank.seconds);
    most.messages = std::max(most.messages, rank.messages);
    most.sent = std::max(most.sent, rank.sent);
    most.received = std::max(most.received, rank.received);
    most.reduced = std::max(most.reduced, rank.reduced);
  }
  return most;
}

Simulation simulate(const Schedule& schedule, double bytes, const Costs& costs) {
  return simulate_sized(schedule, costs, even(schedule, bytes));
}

Simulation simulate(const Schedule& schedule, const Partition& partition, double element_bytes,
                    const Costs& costs) {
  return simulate_sized(schedule, costs, [&](const Chunk& run) {
    return element_bytes * static_cast<double>(partition.size(run));
  });
}

Simulation simulate(const Schedule& header, std::span<const Program> programs, double bytes,
                    const Costs& costs) {
  check_header(header);
  Clocks clocks(header, costs, even(header, bytes));
  demand_clean(run(header, programs, clocks), header);
  return clocks.result();
}

CostCounts count(const Schedule& schedule) {
  const double all_of_it = is_token(schedule.collective) ? 0 : 1;
  const RankCost one =
      simulate(schedule, all_of_it, {.alpha = 1, .ports = Ports::per_lane}).busiest();
  const RankCost all =
      simulate(schedule, all_of_it, {.alpha = 1, .ports = Ports::unlimited}).busiest();
  return {one.seconds, all.seconds,  static_cast<double>(one.messages),
          one.sent,    one.received, one.reduced};
}

}  // namespace rondo
