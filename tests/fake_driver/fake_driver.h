// A CUDA driver without a GPU, for tests: libcuda.so.1 with the functions that rondo calls.
//
// Device memory is memory that this process cannot touch: whoever reads a device buffer on the host
// dies of it. Only the fake's own copies reach it. A stream is a thread that does what was put into
// it, in order; host functions of all streams run on one thread, as in the real driver, and any
// call of CUDA from there is refused and counted. Streams are captured into graphs: what each of
// them did, with the events between them; a launch runs that again, side by side.
//
// Other processes map device memory by CUDA IPC, as files of the process that has it, or, of
// cuMemCreate, by descriptors of its segments.
//
// It is stricter than the real one: copies take page-locked host memory only. Freeing device memory
// waits for the device only where fake_free_waits() says so, but the memory stays until what is in
// its streams is done. It does
// not have: the legacy stream's implicit waits, a limit to what devices reach of each other's
// memory. Its kernels are the host's functions of the same names, whatever image is loaded; those
// that wait for others run with two threads a block, and begin when their device has room for all
// blocks. FAKE_MPS in the environment: MPS runs. FAKE_WITHOUT_DESCRIPTORS: memory of cuMemCreate
// has none. FAKE_WITHOUT_SEGMENTS: there is no cuMemCreate. FAKE_WITHOUT_IPC: no memory has a CUDA
// IPC handle. FAKE_DMABUF: device memory has
// dma-bufs, which are its files.
#pragma once

#include <string>

#include "core/cuda/api.h"

struct CUgraphExec_st;

namespace rondo::test {
using GraphExec = CUgraphExec_st*;
}

enum class FakeLink { pcie, nvlink, none };

extern "C" {
// More of the driver, for tests alone.
int cuDeviceGet(int* device, int ordinal);
int cuMemcpyHtoD_v2(rondo::cuda::DevicePointer to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, rondo::cuda::DevicePointer from, std::size_t bytes);
int cuMemAllocManaged(rondo::cuda::DevicePointer* pointer, std::size_t bytes, unsigned flags);
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
/// The next call of `function` ends this process by SIGKILL.
void fake_die_in(const char* function);
/// Calls that the real driver forbids, so far: CUDA in a host function, waiting or taking memory in
/// a capture.
int fake_violations();
/// How often this process has called `function`, without "_v2" and the like.
int fake_calls(const char* function);
/// Device memory and page-locked memory that was not given back, in blocks; claims on segments and
/// reserved addresses, too.
int fake_blocks();
/// Ranges of addresses that were reserved for segments and not given back.
int fake_reservations();
/// Descriptors of segments that are open in this process beside the driver's own.
int fake_descriptors();
/// As cuMemAlloc, but no handle names it, as of memory of pools.
int fake_allocate_unshared(rondo::cuda::DevicePointer* pointer, std::size_t bytes);
/// Bytes that streams have copied so far.
std::size_t fake_copied_bytes();
/// From here on devices say that so many bytes are left; 0: a lot.
void fake_memory_left(std::size_t bytes);
/// How often primary contexts of `device` were retained and not released; -1: of all devices.
int fake_retained(int device);
/// How devices reach each other's memory from here on; every pair: by PCIe.
void fake_set_link(int device, int peer, FakeLink link);
/// Kernels that have run, or begun to; -1: unknown, as with a real driver.
int fake_launches();
/// The same of kernels that wait for those of other ranks.
int fake_resident_launches();
/// From here on a stream's queue has room for so many entries; 0: for all. Who finds it full waits
/// until there is room, and keeps all others of its context waiting, as a driver may.
void fake_limit_queues(std::size_t entries);
/// The most entries that any queue has held since then.
std::size_t fake_longest_queue();
/// Whether cuMemFree waits from here on until all streams of the memory's device have done what is
/// in them, as the real driver's does.
void fake_free_waits(bool waits);
/// As if the program had destroyed the context and made another one, which got its address: what
/// was loaded into the old one cannot be launched any more. Its streams and memory stay.
void fake_renew_context(rondo::cuda::Context context);
/// Streams made from here on share so many queues of their context, in turn, in the order of their
/// making: what waits at the head of one holds up all behind it, whatever their streams are, as a
/// device's few connections may. 0: each has its own.
void fake_share_queues(std::size_t queues_of_context);
/// As if a kernel had crashed there: its streams do nothing any more, unless it is renewed.
void fake_break_context(rondo::cuda::Context context);
/// As if a device's context had been destroyed: its memory, of programs and of others, is nobody's
/// any more. Not of device 0, whose number the host's has, too.
void fake_lose_memory(int device);
}
