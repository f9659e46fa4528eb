// A recorded call in terms of its schedule: each message of the schedule with the times at which it
// moved.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/rondo/explain/explain.h"
#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// Times are nanoseconds since the call's begin. A message in slices begins with the first slice
/// and ends with the last one.
struct RealMessage {
  bool there = false;  ///< false: it had no bytes, so nothing was sent
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t settled = 0;
};

struct RealRun {
  Schedule schedule{};
  Explanation explanation{};
  /// One for each round of the explanation and each of its messages.
  std::vector<std::vector<RealMessage>> messages{};
};

/// A call on the direct path is shown as the schedule of the same name. Data that a rank reads from
/// another rank's memory is a message, which begins when the data can be read. Throws
/// Error{invalid_argument} for a single send, an incomplete call, and more than 64 ranks.
RealRun real_run(const TracedCall& call);
/// The slowest call that real_run() can show.
const TracedCall& slowest_playable(const Timeline& timeline);

}  // namespace rondo::tool
