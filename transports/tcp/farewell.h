// Leaving: what was sent reaches the peers' kernels although nobody here reads their answers.
#pragma once

#include <vector>

#include "transports/tcp/stream.h"

namespace rondo::tcp {

/// Before connections are closed: a socket that is closed with unread input, or that is sent more
/// once it is closed, is reset by the kernel, and a reset throws away what is still on its way to
/// the peer. Sends the end of each stream and reads what comes, to nowhere, until all that was sent
/// has been acknowledged; at most two seconds for all of them, where peers take nothing.
void deliver(std::vector<Connection> connections) noexcept;

}  // namespace rondo::tcp
