// The page that plays a recorded call.
#pragma once

#include <string>
#include <vector>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// Returns HTML. The page also has the schedule with its predicted times, to compare on the same
/// clock. Throws Error{invalid_argument} as real_run() does. `names`: the files, which the page
/// names.
std::string real_page(const Timeline& timeline, const TracedCall& call,
                      const std::vector<std::string>& names);

}  // namespace rondo::tool
