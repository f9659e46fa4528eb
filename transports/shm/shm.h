// shm: ranks are processes of one machine, channels are slot rings in memory that both map.
//
// The receiver makes the memory (so its pages are near it) and passes it over a Unix socket; no
// file, no /dev/shm. See handshake.h for how ends meet, core/transport/slot_ring.h for how frames
// travel, and direct.h for the control block, windows and copies.
#pragma once

#include <memory>
#include <string>

#include "core/transport/transport.h"

namespace rondo::shm {

std::string obstacle(const HostInfo& from, const HostInfo& to);
/// settings.doorbell must be set. Throws Error.
std::unique_ptr<Transport> make(const TransportSettings& settings);

}  // namespace rondo::shm
