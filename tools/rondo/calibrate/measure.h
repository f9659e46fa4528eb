// Measuring. All kinds of calls are timed in turn, so that constants come from the same minutes.
#pragma once

#include <string>
#include <vector>

#include "bench/floor/trial.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/rondo/calibrate/ranks.h"
#include "tools/rondo/calibrate/samples.h"

namespace rondo::tool {

struct CalibrateOptions {
  std::vector<std::string> transports{"shm", "tcp"};
  std::vector<int> ranks{2};
  std::vector<double> sizes{};  ///< bytes of a message, growing
  std::vector<DataType> types{};
  std::vector<ReduceOperator> ops{ReduceOperator::sum};
  int rounds = 21;
  std::vector<std::string> checked{};  ///< all_reduce algorithms to hold against their predictions
};

/// One transport between so many ranks.
struct LinkMeasurement {
  LinkProfile link{};
  /// Algorithms; "default" is the choice for a program that forces nothing.
  std::vector<std::string> checked{};
  std::vector<Samples> samples{};  ///< also of checked algorithms, as trials with their names
};

/// Collective among `team`. Throws std::runtime_error if a rank fails; the rank's own message is on
/// standard error.
LinkMeasurement measure_link(const CalibrateOptions& options, Ranks& team,
                             const std::string& transport, int ranks);
/// Collective. Measures all requested pairs of a type and an operator that go together, on as many
/// cores at once as `ranks` use.
std::vector<GammaProfile> measure_reductions(const CalibrateOptions& options, Ranks& team,
                                             int ranks);

}  // namespace rondo::tool
