// Statistics of samples: what -I reports.
#pragma once

#include <vector>

namespace rondo::bench {

/// Statistics in seconds, or in the unit of the samples. Percentiles are by nearest rank.
struct Statistics {
  double min = 0;
  double max = 0;
  double mean = 0;
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  double deviation = 0;  ///< of the population
  /// Deviation in per cent of the mean.
  double variation() const { return mean > 0 ? deviation / mean * 100.0 : 0.0; }
};

/// All zero for no samples.
Statistics statistics_of(std::vector<double> samples);

}  // namespace rondo::bench
