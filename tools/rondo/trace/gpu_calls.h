// Calls on GPU buffers, which streams run: when they were put into a stream, begun and completed.
// They have no steps to show.
#pragma once

#include <string>

#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// "all_reduce", "send to 1", "receive from 0".
std::string call_name(const TracedGpuCall& call);
/// The bytes of the whole index space, as TracedCall::bytes().
std::uint64_t bytes_of(const TracedGpuCall& call, int ranks);

/// A row for each kind, size and path; empty if no rank made such calls.
std::string gpu_calls_text(const Timeline& timeline);

}  // namespace rondo::tool
