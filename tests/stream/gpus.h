// Ranks as threads whose calls go into streams of one device, checked by the oracle.
#pragma once

#include "rondo/stream.h"
#include "tests/nccl/device.h"
#include "tests/support/call.h"

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

/// This rank's part of calls on device memory, or on the host's, one after the other.
inline void check_calls(StreamCommunicator& gpus, const std::vector<Trial>& trials,
                        bool on_host = false) {
  const DeviceStream stream;
  for (const Trial& trial : trials) {
    const auto call = [&](const std::byte* in, std::byte* out) {
      make_call(gpus, trial.given(), in, out, static_cast<CudaStream>(stream));
      stream.finish();
    };
    if (on_host) {
      trial.run(gpus.rank(), call);
      continue;
    }
    const DeviceBuffer<std::byte> memory(trial.before(gpus.rank()));
    call(memory.data() + trial.input(gpus.rank()), memory.data() + trial.output(gpus.rank()));
    trial.check(gpus.rank(), memory.get().data());
  }
}

}  // namespace rondo::test
