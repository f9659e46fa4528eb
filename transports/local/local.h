// local: ranks are threads of one process, channels are slot rings in ordinary memory.
//
//   rank 0 (thread)                          rank 1 (thread)
//   sender(1, lane) --+                 +--> receiver(0, lane)
//                     |  LocalExchange  |
//                     +--> slot ring ---+
//
// The simplest complete transport, and the one to imitate. There is nothing to connect: whichever
// end asks first makes the ring in the exchange that the ranks share.
#pragma once

#include <memory>
#include <string>

#include "core/transport/transport.h"

namespace rondo::local {

std::string obstacle(const HostInfo& from, const HostInfo& to);
/// settings.local and settings.doorbell must be set. Throws Error{invalid_argument}.
std::unique_ptr<Transport> make(const TransportSettings& settings);

}  // namespace rondo::local
