// The events of one call, and the call made from them. Private to the merger.
#pragma once

#include <vector>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

struct CallEvents {
  TracedCall call{};
  std::vector<std::vector<const TracedEvent*>> events{};  ///< by rank, in the order of recording
};

/// Fills in the work of the ranks, messages and waits. Returns how many messages came before they
/// were sent.
std::size_t build_call(const Timeline& timeline, CallEvents& events);

}  // namespace rondo::tool
