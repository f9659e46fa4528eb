// A real call as its schedule says it: each message of the schedule with the times at which it
// moved.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/explain.h"
#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// Nanoseconds since the call's begin. A message that was cut into slices begins with the first and
/// ends with the last of them.
struct RealMessage {
  bool there = false;  ///< false: it had no bytes, so nothing was sent
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t settled = 0;
};

struct RealRun {
  Schedule schedule{};
  Explanation explanation{};
  /// For each round of the explanation and each of its messages.
  std::vector<std::vector<RealMessage>> messages{};
};

/// Directly moved calls are told as the schedule of the same name: what a rank reads of another
/// one's is a message that begins when it can be read. Throws Error{invalid_argument} for what no
/// schedule tells: a single send, an incomplete call, more than 64 ranks.
RealRun real_run(const TracedCall& call);
/// The slowest call that real_run() can tell.
const TracedCall& slowest_playable(const Timeline& timeline);

}  // namespace rondo::tool
