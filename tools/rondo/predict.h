// Predicted times of a collective's algorithms, fastest first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/composition.h"
#include "core/schedule/simulate.h"

namespace rondo::tool {

struct Prediction {
  Composition algorithm{};
  bool simulated = false;  ///< false: an estimate from cost lines, which has only `seconds`
  RankCost cost{};         ///< the busiest rank's
};

/// How a schedule of any of the algorithms is simulated.
using Simulate = std::function<Simulation(const Schedule&)>;

/// The steps of rank 0 times the number of ranks. Counting stops once it is over `most`.
std::uint64_t rough_steps(const Schedule& schedule, std::uint64_t most);

/// The topology with these costs of every link, for ranks whose hosts are not known.
Topology with_costs(Topology topology, const Costs& costs);

/// Schedules of more than `most_steps` steps are estimated.
std::vector<Prediction> predict(const std::vector<Composition>& rows, const Topology& topology,
                                int root, double bytes, std::uint64_t most_steps,
                                const Simulate& simulate);

/// More steps than this take minutes.
inline constexpr std::uint64_t most_simulated_steps = 100'000'000;

/// No simulation takes more of a call's slices, where the user does not ask for them.
inline constexpr int most_slices = 16;

/// The number of slices into which executors cut a schedule's chunks if a message carries at most
/// `most_bytes`. Throws Error{invalid_argument} if those are too many to simulate.
int slices_of(const Schedule& schedule, double bytes, double most_bytes);

/// The same as executors cut it between these hosts, if a transport's slots have `slot_bytes`; at
/// most most_slices.
int slices_between_hosts(const Schedule& schedule, double bytes, const Topology& topology,
                         std::size_t slot_bytes);

/// Calls in a loop: then the first and the last no longer matter.
inline constexpr int looped_calls = 8;

/// What each call takes in a loop of `calls`. Messages are cut as over TCP, into most_slices at most.
Simulation simulate_loop_as_run(const Schedule& schedule, double bytes, const Topology& topology,
                                Costs costs = {}, int calls = looped_calls);
/// The slices of that.
int slices_as_run(const Schedule& schedule, double bytes, const Topology& topology);

/// "alpha 1e-06 s, beta 1e-10 s/byte, gamma 5e-11 s/byte", or processors' costs instead of beta.
std::string costs_text(const Costs& costs);

/// A table. `chosen` is marked. Brief: no messages, no bytes.
std::string predictions_text(const std::vector<Prediction>& rows, bool brief,
                             const std::string& chosen = {});

}  // namespace rondo::tool
