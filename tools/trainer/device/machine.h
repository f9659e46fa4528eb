// A CUDA device as what a rank computes on: operations in a stream, and collectives on the device's
// buffers beside them, by rondo/stream.h.
#pragma once

#include <memory>

#include "tools/trainer/device/driver.h"
#include "tools/trainer/machine/machine.h"

namespace rondo::train {

/// For the calling thread, which may not use another context as long as it lives. `world`: a
/// communicator of its own, for collectives. `offload`: optimizer state and master weights lie in
/// the host's memory. Local. Throws Error{invalid_usage} that says what of a GPU is missing.
std::unique_ptr<Machine> open_device_machine(Communicator world, bool offload,
                                             const device::Libraries& libraries = {});

}  // namespace rondo::train
