// The simulator: an alpha-beta-gamma clock for every rank and lane.
//
// - A message of n bytes takes alpha + n beta. It occupies the sender's out port and the receiver's
//   in port (full duplex, one message each way at a time). It starts when the sender's lane has the
//   value and both ports are free.
// - A lane that receives waits for the message's end. Sending does not hold it up.
// - Combining k operands of n bytes takes (k - 1) n gamma.
// - Waiting for room in a channel costs nothing: depth is a matter of correctness (see verify.h).
//
// So a ring all-reduce of N bytes takes exactly 2(P-1)(alpha + N/P beta) + (P-1) N/P gamma.
//
// Three options make this clock one of a real machine. All are off by default:
//
// - A switch keeps what it has taken from the sender until the receiver's port is free, so a sender
//   goes on with its next message. Alpha is then time on the way and occupies no port.
// - Slices: every message moves in so many pieces. Each goes its way through the schedule as soon
//   as it can, as executors do it. Alpha is then time on the way: the next slice follows at once.
// - Processors: on one machine they move the bytes. Each message takes n `copy` of its sender's
//   processor and as much of its receiver's. Combining takes n gamma of the processor. Ranks that
//   share a processor take turns. A lane sends on what it has just received or combined for n
//   `forward`, since executors do both at once. Alpha occupies nothing. A receiver whose processor
//   is idle copies out what has come while the sender still copies in the rest. So it is done
//   sooner by a part of the time for which it waited like that. The part is `overlap`.
//
// Where a topology is given, two ranks of one host are linked by its memory, with alpha and beta of
// its own. On different sockets a message also occupies the links between these, if their speed is
// given. A message between hosts occupies every link of its route (core/topology/routes.h), which
// other ranks share. It goes on to the next link at once, and waits there until that link is free.
// So it takes alpha, and n beta of the slowest link. The sender's next message waits for its port.
// Half of alpha occupies the sender's lane and half the receiver's, and their processors: system
// calls and polling are most of it.
//
// simulate_loop() makes calls one after the other on each rank, as benchmarks and training steps do.
// There a broadcast's root begins the next call while the last one is still on its way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"
#include "core/topology/topology.h"

namespace rondo {

/// Which messages share a port.
enum class Ports : std::uint8_t {
  one,       ///< all of a rank's
  switched,  ///< likewise, and a switch stands between them, see below
  per_lane,  ///< those of one lane
  unlimited  ///< none
};

struct Costs {
  double alpha = 0;  ///< seconds a message
  double beta = 0;   ///< seconds a byte
  double gamma = 0;  ///< seconds a reduced byte
  Ports ports = Ports::one;
  double copy = 0;     ///< processor's seconds a byte, at either end of a message
  double forward = 0;  ///< the same, of sending on what the lane's last step made
  double overlap = 0;  ///< 0 to 1, of the two copies of a message
  int processors = 0;  ///< rank r works on number r modulo these; 0: each rank has its own
  int slices = 1;      ///< of each message

  /// Processors move the bytes, and may share; also where they take no time for it.
  bool works() const { return copy > 0 || processors > 0; }
};

/// The costs where none were measured: those of a fast network between machines.
inline constexpr Costs default_costs{.alpha = 1e-6, .beta = 1e-10, .gamma = 5e-11};

struct RankCost {
  double seconds = 0;          ///< when the rank's last lane is done
  std::uint64_t messages = 0;  ///< sent
  double sent = 0;             ///< bytes
  double received = 0;         ///< bytes
  double reduced = 0;          ///< bytes: (operands - 1) times their size
};

struct Simulation {
  std::vector<RankCost> ranks{};

  /// The largest of each over all ranks.
  RankCost busiest() const;
};

/// `bytes`: the whole index space (a block per rank where the collective has blocks), cut evenly.
/// Throws Error{internal} when the schedule gets stuck.
Simulation simulate(const Schedule& schedule, double bytes, const Costs& costs);
/// The same with exactly the chunk sizes that an executor would use.
Simulation simulate(const Schedule& schedule, const Partition& partition, double element_bytes,
                    const Costs& costs);
/// With the topology's alpha, beta and gamma instead of those in `costs`, which has the rest.
/// Throws Error{invalid_argument} unless the schedule has the topology's ranks.
Simulation simulate(const Schedule& schedule, double bytes, const Costs& costs,
                    const Topology& topology);
Simulation simulate(const Schedule& schedule, const Partition& partition, double element_bytes,
                    const Costs& costs, const Topology& topology);
/// `seconds`: what one more call takes in a loop of so many (2 or more). The rest is of one call.
Simulation simulate_loop(const Schedule& schedule, double bytes, const Costs& costs,
                         const Topology& topology, int calls);
/// Lowered programs, one of each rank.
Simulation simulate(const Schedule& header, std::span<const Program> programs, double bytes,
                    const Costs& costs);

/// What a schedule costs its busiest rank, in the units of cost lines.
struct CostCounts {
  double rounds = 0;  ///< messages on the critical path, one port per lane, sending takes a round
  double hops = 0;    ///< longest chain of messages of which each needs the one before
  double messages = 0;
  double sent = 0;      ///< in units of the whole index space N; a barrier has none
  double received = 0;  ///< in N
  double reduced = 0;   ///< in N
};
CostCounts count(const Schedule& schedule);

}  // namespace rondo
