#include "bench/common/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondo::bench {
namespace {

double percentile(const std::vector<double>& sorted, std::size_t percent) {
  const std::size_t nearest = (sorted.size() * percent + 99) / 100;
  return sorted[std::min(sorted.size(), std::max<std::size_t>(nearest, 1)) - 1];
}

}  // namespace

Statistics statistics_of(std::vector<double> samples) {
  Statistics result;
  if (samples.empty()) return result;
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  result.min = samples.front();
  result.max = samples.back();
  result.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  result.p50 = samples[samples.size() / 2];
  result.p95 = percentile(samples, 95);
  result.p99 = percentile(samples, 99);
  double squares = 0;
  for (const double sample : samples) squares += (sample - result.mean) * (sample - result.mean);
  result.deviation = std::sqrt(squares / count);
  return result;
}

}  // namespace rondo::bench
