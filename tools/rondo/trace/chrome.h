// A timeline for Perfetto and Chrome's chrome://tracing.
#pragma once

#include <iosfwd>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// Writes Chrome's trace event format. Each rank is a process, with a track for calls, one for
/// waits and one for each lane (more where work of a lane overlaps). Each message is an arrow.
/// It writes event by event, since the text of many calls takes a hundred times the memory of their
/// events.
void write_chrome(const Timeline& timeline, std::ostream& out);

}  // namespace rondo::tool
