// Predicted times of a collective's algorithms, fastest first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/table.h"
#include "core/schedule/simulate.h"

namespace rondo::tool {

struct Prediction {
  const Algorithm* algorithm = nullptr;
  bool simulated = false;  ///< false: it would take minutes
  RankCost cost{};         ///< the busiest rank's
};

/// Defaults of the programs: a fast network between machines, say.
inline constexpr Costs default_costs{.alpha = 1e-6, .beta = 1e-10, .gamma = 5e-11};

/// How a schedule of any of the algorithms is simulated.
using Simulate = std::function<Simulation(const Schedule&)>;

/// Steps of rank 0 times ranks, counted no further than it takes to pass `most`.
std::uint64_t rough_steps(const Schedule& schedule, std::uint64_t most);

/// Schedules with more steps than take seconds are left out, unless there is one row only.
std::vector<Prediction> predict(const std::vector<const Algorithm*>& rows, int ranks, int root,
                                const Simulate& simulate);

/// Into how many slices executors cut a schedule's messages where one carries at most `most_bytes`.
/// Throws Error{invalid_argument} where that makes too many to simulate.
int slices_of(const Schedule& schedule, double bytes, double most_bytes);

/// "alpha 1e-06 s, beta 1e-10 s/byte, gamma 5e-11 s/byte", or what processors take instead of beta.
std::string costs_text(const Costs& costs);

/// "ring   12.000   1.00x   6   ..." under headings(); `mark` stands behind it.
std::string prediction_line(const Prediction& row, double fastest, const std::string& mark = {});
std::string prediction_headings();

}  // namespace rondo::tool
