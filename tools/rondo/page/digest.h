// Short fingerprints of an Explanation. A page plays a schedule with an interpreter of its own
// (web/machine.js); these let it, and the browser test, say whether both saw the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/schedule/explain.h"

namespace rondo::tool {

/// FNV-1a, 32 bits: web/digest.js computes the same.
std::uint32_t fingerprint(std::string_view text);

/// Who sent what to whom in a round, one message a line, lines sorted:
/// "FROM>TO/LANE CHUNK:CONTRIBUTORS ...", contributors as a hexadecimal mask.
std::string messages_text(const ExplainedRound& round);

/// What every rank's output holds at the end: a line for each rank.
std::string outputs_text(const Explanation& explanation);

}  // namespace rondo::tool
