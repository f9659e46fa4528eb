// The data of a run, for its reports.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rondo/traffic.h"
#include "tools/trainer/report/stopwatch.h"

namespace rondo::train {

struct StepRecord {
  std::size_t step = 0;  ///< from 1
  double loss = 0;       ///< mean over the global batch, before the step
  double norm = 0;       ///< of the gradient, before clipping
  double rate = 0;       ///< learning rate
  double loss_scale = 1;
  bool skipped = false;  ///< fp16: gradients overflowed on some rank; nothing was changed
  std::optional<double> validation{};  ///< mean loss after the step, where it was measured
  PhaseSeconds phases{};               ///< of rank 0, in the step alone (not in validation)
  Traffic traffic{};  ///< sent by rank 0's strategy since the step before; zero1 and zero2 gather
                      ///< what a step has changed while the next begins, and count it there

  double seconds() const {
    double sum = 0;
    for (const double phase : phases) sum += phase;
    return sum;
  }
};

/// The data that stay the same during a run.
struct RunRecord {
  int ranks = 1;
  std::string strategy{};
  std::string settings{};  ///< settings_json()
  std::size_t parameters = 0;
  std::size_t steps = 0;
  std::size_t targets_per_step = 0;
  double operations_per_step = 0;  ///< of all ranks
};

}  // namespace rondo::train
