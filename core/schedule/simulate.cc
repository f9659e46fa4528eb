#include "core/schedule/simulate.h"

#include <algorithm>
#include <functional>
#include <string>

#include "core/schedule/collective.h"
#include "core/schedule/machine.h"
#include "core/topology/routes.h"
#include "rondo/error.h"

namespace rondo {
namespace {

using Size = std::function<double(const Chunk&)>;  ///< bytes of a chunk run

/// The Domain of clocks. A local value has no content; a message is its arrival time and size.
class Clocks {
 public:
  struct Value {
    double arrival = 0;  ///< of its end
    double copying = 0;  ///< seconds for which the sender copied it in, up to alpha before that
    double bytes = 0;
    double receiving = 0;  ///< seconds of alpha for which it occupies its receiver
    bool at_hand = false;  ///< the lane's last step made it
  };

  /// `routes`: null where all links are alike; else they outlive this.
  Clocks(const Schedule& header, const Costs& costs, Size size, const Routes* routes)
      : costs_(costs),
        routes_(routes),
        link_free_(routes == nullptr ? 0 : static_cast<std::size_t>(routes->links())),
        size_(std::move(size)),
        lanes_(static_cast<std::size_t>(header.lanes)),
        clocks_(static_cast<std::size_t>(header.ranks) * lanes_),
        made_(clocks_.size()),
        out_free_(clocks_.size()),
        in_free_(clocks_.size()),
        processors_(costs.processors > 0 ? costs.processors : header.ranks),
        processor_free_(static_cast<std::size_t>(processors_)),
        costs_of_(static_cast<std::size_t>(header.ranks)) {}

  double start(const Site& site, double arrived) const {
    double now = std::max(arrived, clocks_[index(site.rank, site.lane)]);
    if (works()) now = std::max(now, processor_of(site.rank));
    const int peer = site.op->out_peer;
    if (peer < 0 || costs_.ports == Ports::unlimited) return now;
    if (between_hosts(site.rank, peer))
      return std::max(now, link_free(routes_->port_out(site.rank)));
    now = std::max(now, out_free_[port(site.rank, site.lane)]);
    return costs_.ports == Ports::switched ? now : std::max(now, in_free_[port(peer, site.lane)]);
  }
  double arrival(const Value& value) const {
    return value.arrival - costs_.overlap * value.copying;
  }

  Value read(const Site& site, const Chunk& chunk) const {
    return {.at_hand = chunk == made_[index(site.rank, site.lane)]};
  }
  void write(const Site& site, const Chunk& chunk, const Value&) {
    made_[index(site.rank, site.lane)] = chunk;
  }

  Value arrive(const Site& site, int, Value message) {
    double& now = clocks_[index(site.rank, site.lane)];
    now =
        std::max(now, message.arrival - costs_.overlap * waited(site, message) - message.receiving);
    cost(site.rank).received += message.bytes;
    work(site, message.receiving + message.bytes * costs_.copy);
    return {};
  }

  Value combine(const Site& site, std::span<Value> operands) {
    const double bytes = static_cast<double>(operands.size() - 1) * size_(site.op->extent);
    work(site, bytes * costs_.gamma);
    cost(site.rank).reduced += bytes;
    return {};
  }

  Value depart(const Site& site, int peer, Value value) {
    const double bytes = size_(site.op->extent);
    RankCost& own = cost(site.rank);
    ++own.messages;
    own.sent += bytes;
    const double copying = bytes * (value.at_hand ? costs_.forward : costs_.copy);
    work(site, copying);
    const bool network = between_hosts(site.rank, peer);
    const double alpha = network ? routes_->network_alpha() : costs_.alpha;
    const bool routes = network || between_sockets(site.rank, peer);
    const double through = routes ? routed(site, peer, bytes) : 0;
    const double copied = network ? 0 : carried(site, peer, bytes * costs_.beta);
    const double end = alpha + std::max(through, copied);
    const double occupied = routes_ == nullptr ? 0 : alpha / 2;
    work(site, occupied);
    return {end, copying, bytes, occupied};
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
  bool between_hosts(int rank, int peer) const {
    return routes_ != nullptr && !routes_->same_host(rank, peer);
  }
  bool between_sockets(int rank, int peer) const {
    return routes_ != nullptr && routes_->between_sockets(rank, peer);
  }
  double link_free(int link) const { return link_free_[static_cast<std::size_t>(link)]; }
  /// Occupies the links of the route; when the message is through all of them.
  double routed(const Site& site, int peer, double bytes) {
    double begin = start(site, 0);
    double end = begin;
    routes_->between(site.rank, peer, route_);
    for (const int link : route_) {
      begin = std::max(begin, link_free(link));
      const double free = begin + bytes * routes_->beta(link);
      link_free_[static_cast<std::size_t>(link)] = free;
      end = std::max(end, free);
    }
    return end;
  }
  /// Occupies both ports for so long; when the message is through the receiver's.
  double carried(const Site& site, int peer, double seconds) {
    const double begin = start(site, 0);
    if (costs_.ports == Ports::unlimited) return begin + seconds;
    double& out = out_free_[port(site.rank, site.lane)];
    double& in = in_free_[port(peer, site.lane)];
    if (costs_.ports == Ports::switched) {
      out = begin + seconds;
      return in = std::max(begin, in) + seconds;
    }
    const bool on_the_way = costs_.slices > 1 || works();
    out = in = begin + seconds + (on_the_way ? 0 : costs_.alpha);
    return begin + seconds;
  }
  /// For how long the receiver could do nothing but see the message come.
  double waited(const Site& site, const Value& message) const {
    const double copied = message.arrival - costs_.alpha;
    return std::clamp(copied - start(site, 0), 0.0, message.copying);
  }
  bool works() const { return costs_.works(); }
  double& processor_of(int rank) {
    return processor_free_[static_cast<std::size_t>(rank % processors_)];
  }
  double processor_of(int rank) const {
    return processor_free_[static_cast<std::size_t>(rank % processors_)];
  }
  /// The lane goes on once its processor has done it.
  void work(const Site& site, double seconds) {
    double& now = clocks_[index(site.rank, site.lane)];
    if (works()) now = std::max(now, processor_of(site.rank));
    now += seconds;
    if (works()) processor_of(site.rank) = now;
  }
  std::size_t index(int rank, int lane) const {
    return static_cast<std::size_t>(rank) * lanes_ + static_cast<std::size_t>(lane);
  }
  std::size_t port(int rank, int lane) const {
    return index(rank, costs_.ports == Ports::per_lane ? lane : 0);
  }
  RankCost& cost(int rank) { return costs_of_[static_cast<std::size_t>(rank)]; }

  Costs costs_;
  const Routes* routes_;
  std::vector<double> link_free_;  ///< by link of the routes
  std::vector<int> route_{};       ///< of the message at hand
  Size size_;
  std::size_t lanes_;
  std::vector<double> clocks_;    ///< rank * lanes + lane
  std::vector<Chunk> made_;       ///< by the last step that wrote one
  std::vector<double> out_free_;  ///< by port
  std::vector<double> in_free_;
  int processors_;
  std::vector<double> processor_free_;
  std::vector<RankCost> costs_of_;
};

Size even(const Schedule& header, double bytes) {
  const double chunk = bytes / header.layout.chunks();
  return [chunk](const Chunk& run) { return chunk * run.count; };
}

void demand_simulated(const Outcome& outcome, const Schedule& header) {
  if (outcome.clean()) return;
  throw Error(ErrorCode::internal,
              header.algorithm + " " + std::string(name(header.collective)) +
                  " cannot be simulated: " + describe(outcome, header).front());
}

/// Every message in so many pieces: as many times the lanes, which go their ways independently.
Schedule in_slices(const Schedule& schedule, int slices) {
  Schedule cut = schedule;
  cut.lanes = schedule.lanes * slices;
  cut.steps = [steps = schedule.steps, lanes = schedule.lanes](int rank, int lane) {
    return steps(rank, lane % lanes);
  };
  return cut;
}

Steps repeated(std::function<Steps(int, int)> steps, int rank, int lane, int times) {
  for (int time = 0; time < times; ++time) {
    Steps all = steps(rank, lane);
    while (const Step* step = all.next()) co_yield *step;
  }
}

/// So many calls: a lane goes on with the next one as soon as it has ended one.
Schedule in_a_loop(const Schedule& schedule, int calls) {
  Schedule all = schedule;
  all.steps = [steps = schedule.steps, calls](int rank, int lane) {
    return repeated(steps, rank, lane, calls);
  };
  return all;
}

/// Messages are those of the schedule again, not slices.
Simulation whole(Simulation simulation, int slices) {
  for (RankCost& rank : simulation.ranks) rank.messages /= static_cast<std::uint64_t>(slices);
  return simulation;
}

Simulation simulate_sized(const Schedule& schedule, const Costs& costs, Size size,
                          const Routes* routes = nullptr) {
  check_header(schedule);
  if (costs.slices <= 1) {
    Clocks clocks(schedule, costs, std::move(size), routes);
    demand_simulated(run(schedule, clocks), schedule);
    return clocks.result();
  }
  const Schedule cut = in_slices(schedule, costs.slices);
  const double slices = costs.slices;
  Clocks clocks(
      cut, costs, [&](const Chunk& run) { return size(run) / slices; }, routes);
  demand_simulated(run(cut, clocks), cut);
  return whole(clocks.result(), costs.slices);
}

Simulation simulate_routed(const Schedule& schedule, Costs costs, Size size,
                           const Topology& topology) {
  if (schedule.ranks != topology.ranks)
    throw Error(ErrorCode::invalid_argument, "a schedule of " + std::to_string(schedule.ranks) +
                                                 " ranks on a topology of " +
                                                 std::to_string(topology.ranks));
  costs.alpha = topology.memory.alpha;
  costs.beta = topology.memory.beta;
  costs.gamma = topology.gamma;
  const Routes routes(topology);
  return simulate_sized(schedule, costs, std::move(size), &routes);
}

Size exact(const Partition& partition, double element_bytes) {
  return [&partition, element_bytes](const Chunk& run) {
    return element_bytes * static_cast<double>(partition.size(run));
  };
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
  return simulate_sized(schedule, costs, exact(partition, element_bytes));
}

Simulation simulate(const Schedule& schedule, double bytes, const Costs& costs,
                    const Topology& topology) {
  return simulate_routed(schedule, costs, even(schedule, bytes), topology);
}

Simulation simulate(const Schedule& schedule, const Partition& partition, double element_bytes,
                    const Costs& costs, const Topology& topology) {
  return simulate_routed(schedule, costs, exact(partition, element_bytes), topology);
}

Simulation simulate_loop(const Schedule& schedule, double bytes, const Costs& costs,
                         const Topology& topology, int calls) {
  if (calls < 2)
    throw Error(ErrorCode::invalid_argument, std::to_string(calls) + " calls are no loop");
  Simulation one = simulate(schedule, bytes, costs, topology);
  const Simulation all = simulate(in_a_loop(schedule, calls), bytes, costs, topology);
  const double each = (all.busiest().seconds - one.busiest().seconds) / (calls - 1);
  for (RankCost& rank : one.ranks) rank.seconds = each;
  return one;
}

Simulation simulate(const Schedule& header, std::span<const Program> programs, double bytes,
                    const Costs& costs) {
  check_header(header);
  Clocks clocks(header, costs, even(header, bytes), nullptr);
  demand_simulated(run(header, programs, clocks), header);
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
