// Error messages for calls between devices that differ from rank to rank. Each is an
// Error{mismatch} of `rank`, about `peer`.
#pragma once

#include "core/control/call.h"
#include "core/direct_device/flag_segment.h"
#include "rondo/error.h"

namespace rondo::direct_device {

Error other_message(const MessageShape& mine, const MessageShape& theirs, int rank, int peer,
                    bool sends);
/// The buffers are in memory of different kinds. `on_device`: this rank's are on a device.
Error other_memory(const Call& call, int rank, int peer, bool on_device);
/// The buffers lie at different places in windows.
Error other_places(const Call& call, int rank, int peer, const WindowPlaces& mine,
                   const WindowPlaces& theirs);

}  // namespace rondo::direct_device
