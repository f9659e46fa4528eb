// The page that plays a real call.
#pragma once

#include <string>
#include <vector>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// HTML. The schedule's model is in the page too, to be shown beside it on the same clock. Throws
/// Error{invalid_argument} as real_run() does. `names`: the files, for the words of the page.
std::string real_page(const Timeline& timeline, const TracedCall& call,
                      const std::vector<std::string>& names);

}  // namespace rondo::tool
