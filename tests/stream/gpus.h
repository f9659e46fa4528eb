// Ranks as threads whose calls go into streams of one device.
#pragma once

#include "rondo/stream.h"
#include "tests/nccl/device.h"

namespace rondo::test {

/// Runs body(gpus) on a thread for each rank, all on device 0.
template <class Body>
void with_gpus(int ranks, Body&& body) {
  with_world(ranks, {}, [&](Communicator& world) {
    cuCtxSetCurrent(device_context(0));
    StreamCommunicator gpus(world);
    try {
      body(gpus);
      gpus.finish();
    } catch (...) {
      gpus.abort("the test failed");
      throw;
    }
  });
}

}  // namespace rondo::test
