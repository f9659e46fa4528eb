// Short fingerprints of an Explanation. A page plays a schedule with its own interpreter
// (web/machine.js). With these the page and the browser test tell whether both see the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/rondo/explain/explain.h"

namespace rondo::tool {

/// FNV-1a, 32 bits. web/digest.js computes the same.
std::uint32_t fingerprint(std::string_view text);

/// The messages of a round, one in each line, in sorted lines:
/// "FROM>TO/LANE CHUNK:CONTRIBUTORS ...", with the contributors as a hexadecimal mask.
std::string messages_text(const ExplainedRound& round);

/// What every rank's output holds at the end, a line for each rank.
std::string outputs_text(const Explanation& explanation);

}  // namespace rondo::tool
