// Puts, signals and waits on GPU memory, and ranks as threads that make them.
#pragma once

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

}  // namespace rondo::test
