// A timeline for Perfetto and Chrome's chrome://tracing.
#pragma once

#include <string>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// Chrome's trace event format: a process for each rank; in it a track for calls, one for waits and
/// one for each lane (more where work of a lane overlaps); an arrow for each message.
std::string chrome_json(const Timeline& timeline);

}  // namespace rondo::tool
