// tcp: ranks anywhere, channels are TCP connections; works wherever addresses do.
//
// A connection serves one pair of ranks in one lane, both ways. The rank that sends first opens it.
// See connector.h for how ends meet, channel.h and stream.h for how frames travel.
#pragma once

#include <memory>
#include <string>

#include "core/transport/transport.h"

namespace rondo::tcp {

std::string obstacle(const HostInfo& from, const HostInfo& to);
/// Throws Error.
std::unique_ptr<Transport> make(const TransportSettings& settings);

}  // namespace rondo::tcp
