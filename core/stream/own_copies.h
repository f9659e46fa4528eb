// Messages of a rank to itself, in device memory: copies in the stream, for which nobody is asked.
#pragma once

#include <optional>
#include <vector>

#include "core/stream/request.h"

namespace rondo::stream {

/// One for each send to `rank` and the recv of the same place in their order, with neither in
/// need of a lane. None where one side lies on the host, or differs in count or type, or where
/// there are more than a driver's queue should be filled with at once, or no other requests: then
/// they are messages like others.
std::optional<std::vector<OwnCopy>> own_copies(const std::vector<Request>& requests, int rank);

/// What is left of requests whose messages to `rank` are copies.
void leave_out_own(std::vector<Request>& requests, int rank);

/// Puts it into `stream`.
void enter(const OwnCopy& copy, cuda::Stream stream);

}  // namespace rondo::stream
