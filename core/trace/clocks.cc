#include "core/trace/clocks.h"

#include <algorithm>
#include <limits>

namespace rondo::trace {

std::optional<Offset> estimate(std::span<const Meeting> meetings) {
  if (meetings.empty()) return std::nullopt;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const Meeting& meeting : meetings) {
    least = std::max(least, meeting.sent - meeting.root_received);
    most = std::min(most, meeting.received - meeting.root_sent);
  }
  if (least > most) return std::nullopt;
  const std::int64_t width = most - least;
  return Offset{
      .at = meetings.back().received, .ahead = least + width / 2, .uncertainty = width - width / 2};
}

}  // namespace rondo::trace
