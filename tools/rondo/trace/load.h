// Makes a timeline from the file names that a user gives.
#pragma once

#include <string>
#include <vector>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// Throws Error{invalid_argument} as trace_paths(), read_trace() and merge() do.
Timeline load_timeline(const std::vector<std::string>& names);

}  // namespace rondo::tool
