// The explainer's tables of a real call.
#pragma once

#include <cstddef>
#include <string>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// Says round by round what each rank sent and received and when, how long it waited, and for which
/// ranks. These are tables of at most `width` columns where they fit, lists where they do not.
std::string explain_real(const TracedCall& call, std::size_t width);

}  // namespace rondo::tool
