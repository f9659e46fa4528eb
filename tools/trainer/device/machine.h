// A Machine that is a CUDA device: operations run in a stream, and collectives on device buffers
// run beside them, by rondo/stream.h.
#pragma once

#include <memory>

#include "tools/trainer/device/driver.h"
#include "tools/trainer/machine/machine.h"

namespace rondo::train {

/// For the calling thread, which must not use another context as long as the machine lives.
/// `world`: a communicator of its own, for collectives. `offload`: optimizer state and master
/// weights lie in the host's memory. Local. Throws Error{invalid_usage} that says what is missing
/// to use a GPU.
std::unique_ptr<Machine> open_device_machine(Communicator world, bool offload,
                                             const device::Libraries& libraries = {});

}  // namespace rondo::train
