// A CUDA driver without a GPU, for tests: libcuda.so.1 with the functions that rondo calls.
//
// Device memory is memory that this process cannot touch: whoever reads a device buffer on the host
// dies of it. Only the fake's own copies reach it. A stream is a thread that does what was put into
// it, in order; host functions of all streams run on one thread, as in the real driver, and any
// call of CUDA from there is refused and counted. Streams are captured into graphs: what each of
// them did, with the events between them; a launch runs that again, side by side.
//
// Other processes map device memory by CUDA IPC, as files of the process that has it.
//
// It is stricter than the real one: copies take page-locked host memory only. Freeing device memory
// does not wait for the device, but the memory stays until what is in its streams is done. It does
// not have: the legacy stream's implicit waits, a limit to what devices reach of each other's
// memory. Its kernels are the host's functions of the same names, whatever image is loaded.
#pragma once

#include <string>

#include "core/cuda/api.h"

struct CUgraphExec_st;

namespace rondo::test {
using GraphExec = CUgraphExec_st*;
}

extern "C" {
// More of the driver, for tests alone.
int cuInit(unsigned flags);
int cuDeviceGetCount(int* count);
int cuDeviceGet(int* device, int ordinal);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRetain(rondo::cuda::Context* context, int device);
int cuMemcpyHtoD_v2(rondo::cuda::DevicePointer to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, rondo::cuda::DevicePointer from, std::size_t bytes);
int cuCtxSetCurrent(rondo::cuda::Context context);
int cuStreamBeginCapture_v2(rondo::cuda::Stream stream, int mode);
int cuStreamEndCapture(rondo::cuda::Stream stream, rondo::cuda::Graph* graph);
int cuGraphInstantiateWithFlags(rondo::test::GraphExec* exec, rondo::cuda::Graph graph,
                                unsigned long long flags);
int cuGraphLaunch(rondo::test::GraphExec exec, rondo::cuda::Stream stream);
int cuGraphExecDestroy(rondo::test::GraphExec exec);
int cuGraphDestroy(rondo::cuda::Graph graph);

// What no driver has.
/// The next call of `function` returns `status` and does nothing.
void fake_fail_next(const char* function, int status);
/// Calls that the real driver forbids, so far: CUDA in a host function, waiting or taking memory in
/// a capture.
int fake_violations();
/// How often this process has called `function`, without "_v2" and the like.
int fake_calls(const char* function);
/// Device memory and page-locked memory that was not given back, in blocks.
int fake_blocks();
/// Kernels that have run, or begun to; -1: unknown, as with a real driver.
int fake_launches();
/// From here on a stream's queue has room for so many entries; 0: for all. Who finds it full waits
/// until there is room, and keeps all others of its context waiting, as a driver may.
void fake_limit_queues(std::size_t entries);
/// The most entries that any queue has held since then.
std::size_t fake_longest_queue();
/// As if a kernel had crashed there: its streams do nothing any more. For good.
void fake_break_context(rondo::cuda::Context context);
}
