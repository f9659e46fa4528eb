// Puts, signals and waits on GPU memory, and ranks as threads that make them.
#pragma once

#include "tests/nccl/extensions.h"
#include "tests/nccl/windows.h"

namespace rondo::test {

constexpr unsigned no_flags = 0;

inline ncclResult_t put(const void* from, std::size_t bytes, int peer, ncclWindow_t window,
                        std::size_t offset, int signal, ncclComm_t comm, cudaStream_t stream) {
  return ncclPutSignal(from, bytes, ncclUint8, peer, window, offset, signal, 0, no_flags, comm,
                       stream);
}
inline ncclResult_t give(int peer, int signal, int context, ncclComm_t comm, cudaStream_t stream) {
  return ncclSignal(peer, signal, context, no_flags, comm, stream);
}
inline ncclResult_t wait_for(int peer, int count, int signal, int context, ncclComm_t comm,
                             cudaStream_t stream) {
  ncclWaitSignalDesc_t wanted{.opCnt = count, .peer = peer, .sigIdx = signal, .ctx = context};
  return ncclWaitSignal(1, &wanted, comm, stream);
}

/// Runs body(rank, comm) on a thread for each rank, on a device each or all on one.
template <class Body>
void with_ranks(int ranks, bool across, Body&& body) {
  std::vector<int> devices(static_cast<std::size_t>(ranks), 0);
  for (int rank = 0; across && rank < ranks; ++rank) devices[static_cast<std::size_t>(rank)] = rank;
  const int races = fake_races();
  run_members(init_on(devices), [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(devices[static_cast<std::size_t>(rank)]));
    body(rank, comm);
  });
  expect_that(fake_races() == races, "streams touch the same bytes at the same time");
}

}  // namespace rondo::test
