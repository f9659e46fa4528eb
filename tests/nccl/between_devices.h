// Ranks whose collectives go from device to device: all of them with a device from the start.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/nccl/device.h"

namespace rondo::test {

/// Communicators of ranks that share device 0.
inline std::vector<ncclComm_t> init_on_device(int ranks) {
  cuCtxSetCurrent(device_context(0));
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(ranks));
  const std::vector<int> devices(comms.size(), 0);
  expect(ncclCommInitAll(comms.data(), ranks, devices.data()));
  return comms;
}

/// Runs body(rank, comm) on a thread for each rank of a new communicator, with device 0's context.
template <class Body>
void with_devices(int ranks, Body&& body) {
  run_members(init_on_device(ranks), [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(0));
    body(rank, comm);
  });
}

/// Device memory of whole bytes, so that every type is served alike.
class Bytes : public DeviceBuffer<unsigned char> {
 public:
  using DeviceBuffer::DeviceBuffer;
};

/// Bytes that differ by rank and place, whatever the type: tiles whose size divides no slice.
inline std::vector<unsigned char> pattern(std::size_t bytes, int rank, std::size_t first = 0) {
  std::vector<unsigned char> tile(9973);
  for (std::size_t i = 0; i < tile.size(); ++i)
    tile[i] = static_cast<unsigned char>(i * 7 + i / 251 + static_cast<std::size_t>(rank) * 41);
  std::vector<unsigned char> values(bytes);
  for (std::size_t i = 0; i < bytes;) {
    const std::size_t within = (first + i) % tile.size();
    const std::size_t run = std::min(tile.size() - within, bytes - i);
    std::memcpy(values.data() + i, tile.data() + within, run);
    i += run;
  }
  return values;
}

/// The fake counts: what goes from device to device waits for flags in batches, and nothing else
/// does.
inline int batches() { return fake_calls("cuStreamBatchMemOp"); }

}  // namespace rondo::test
