// Graceful shutdown: what was sent reaches the peers' kernels, although this rank reads no more.
#pragma once

#include <vector>

#include "transports/tcp/stream.h"

namespace rondo::tcp {

/// Call it before connections are closed. The kernel resets a socket that is closed with unread
/// input, or that receives more after that, and a reset throws away what is still on its way to the
/// peer. So this sends the end of each stream, and reads and drops what comes, until all that was
/// sent has been acknowledged. It takes at most two seconds for all connections together.
void deliver(std::vector<Connection> connections) noexcept;

}  // namespace rondo::tcp
