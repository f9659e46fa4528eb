// Measuring: ranks take turns at every kind of call, so that all constants are of the same minutes.
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
  /// Algorithms; "default": what a program gets that forces nothing.
  std::vector<std::string> checked{};
  std::vector<Samples> samples{};  ///< of what was checked, too: trials by its names
};

/// Collective among `team`. Throws std::runtime_error where a rank fails; what it says is on
/// standard error.
LinkMeasurement measure_link(const CalibrateOptions& options, Ranks& team,
                             const std::string& transport, int ranks);
/// Collective. Of all types and operators asked for that go together, on as many cores at once as
/// `ranks` use.
std::vector<GammaProfile> measure_reductions(const CalibrateOptions& options, Ranks& team,
                                             int ranks);

}  // namespace rondo::tool
