// A timeline for Perfetto and Chrome's chrome://tracing.
#pragma once

#include <iosfwd>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// Chrome's trace event format: a process for each rank; in it a track for calls, one for waits and
/// one for each lane (more where work of a lane overlaps); an arrow for each message.
/// Written event by event, since text of many calls takes a hundred times what their events do.
void write_chrome(const Timeline& timeline, std::ostream& out);

}  // namespace rondo::tool
