// Ranks as threads whose calls go into streams, checked by the oracle.
#pragma once

#include <array>

#include "rondo/stream.h"
#include "tests/nccl/device.h"
#include "tests/support/call.h"

namespace rondo::test {

/// The path of calls on device buffers: of ranks on one device, whose threads meet, or on a device
/// each.
enum class Path { through_host, in_place, between_devices };
constexpr std::array all_paths{Path::through_host, Path::in_place, Path::between_devices};

/// While it lives, new communicators take this path.
struct OnPath : Setting {
  explicit OnPath(Path path)
      : Setting("NCCL_P2P_DISABLE", path == Path::through_host ? "1" : "0") {}
};

/// Makes the rank's device this thread's.
inline void choose_device(Path path, int rank) {
  constexpr std::array own{0, 1, 4, 5};  // other tests of this process break those between
  const std::size_t at = path == Path::between_devices ? static_cast<std::size_t>(rank) : 0;
  cuCtxSetCurrent(device_context(own.at(at)));
}

/// Runs body(gpus) on a thread for each rank.
template <class Body>
void with_gpus(int ranks, Path path, Body&& body) {
  const OnPath setting(path);
  with_world(ranks, {}, [&](Communicator& world) {
    choose_device(path, world.rank());
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
