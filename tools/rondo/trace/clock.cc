// Putting clocks right. Part of Timeline.
#include <algorithm>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

std::int64_t RankClock::to_root(std::int64_t time) const {
  if (same || offsets.empty()) return time;
  const trace::Offset& first = offsets.front();
  const trace::Offset& last = offsets.back();
  if (last.at <= first.at) return time - first.ahead;
  const double part =
      static_cast<double>(time - first.at) / static_cast<double>(last.at - first.at);
  const double drift = static_cast<double>(last.ahead - first.ahead);
  // A drift of more than an hour means that a clock was set. Such times mean nothing, but must fit.
  constexpr double most_drift = 3600e9;
  return time - first.ahead -
         static_cast<std::int64_t>(std::clamp(part * drift, -most_drift, most_drift));
}

std::int64_t RankClock::uncertainty() const {
  std::int64_t most = 0;
  if (!same)
    for (const trace::Offset& offset : offsets) most = std::max(most, offset.uncertainty);
  return most;
}

}  // namespace rondo::tool
