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

/// How a schedule of any of the algorithms is simulated.
using Simulate = std::function<Simulation(const Schedule&)>;

/// The steps of rank 0 times the number of ranks. Counting stops once it is over `most`.
std::uint64_t rough_steps(const Schedule& schedule, std::uint64_t most);

/// Leaves out schedules whose simulation would take minutes, unless there is only one row.
std::vector<Prediction> predict(const std::vector<const Algorithm*>& rows, int ranks, int root,
                                const Simulate& simulate);

/// The number of slices into which executors cut a schedule's chunks if a message carries at most
/// `most_bytes`. Throws Error{invalid_argument} if those are too many to simulate.
int slices_of(const Schedule& schedule, double bytes, double most_bytes);

/// "alpha 1e-06 s, beta 1e-10 s/byte, gamma 5e-11 s/byte", or processors' costs instead of beta.
std::string costs_text(const Costs& costs);

/// "ring   12.000   1.00x   6   ..." under prediction_headings(), and `mark` after it.
std::string prediction_line(const Prediction& row, double fastest, const std::string& mark = {});
std::string prediction_headings();

}  // namespace rondo::tool
