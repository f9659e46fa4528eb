// A timeline in words: the whole run, and one call.
#pragma once

#include <string>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// Who took part, what was called, who waited for whom; then the slowest call.
std::string summary_text(const Timeline& timeline);
/// One call: when each rank came, worked and waited, and for whom.
std::string call_text(const TracedCall& call);

}  // namespace rondo::tool
