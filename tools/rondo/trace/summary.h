// A timeline as text: the whole run, and one call.
#pragma once

#include <string>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// The ranks, the calls, and which rank waited for which; then the slowest call.
std::string summary_text(const Timeline& timeline);
/// One call: when each rank came, worked and waited, and for which ranks.
std::string call_text(const TracedCall& call);

}  // namespace rondo::tool
