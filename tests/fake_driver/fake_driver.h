// A CUDA driver without a GPU, for tests: libcuda.so.1 with the functions that rondo calls.
//
// - Device memory is memory that this process cannot touch. A host read of a device buffer kills
//   the process. Only the fake's own copies reach that memory.
// - A stream is a thread that does what was put into it, in order. Host functions of all streams
//   run on one thread, as in the real driver.
// - Streams are captured into graphs: what each of them did, with the events between them. A launch
//   runs that again, side by side.
// - Other processes map device memory by CUDA IPC, as files of the process that has it. They map
//   memory of cuMemCreate by descriptors of its segments.
// - Its kernels are the host's functions of the same names, whatever is in the image that is loaded.
//   But it refuses images that a driver of its version, or its devices, would refuse (images.cc).
// - Kernels that wait for others run with two threads for each block (fake_block_threads()), and end
//   the process where those diverge at a barrier. They begin when their device has room for all blocks.
// - Copies are made in random pieces. Work that runs at the same time and touches the same bytes is
//   counted (fake_races()), if one of the two writes them. That is found by chance, not by the order
//   of events.
// - The legacy stream and streams that block wait for each other.
//
// It is stricter than the real one:
//
// - Copies take page-locked host memory only. Kernels and memory operations take only the address by
//   which devices know it.
// - A context that has broken refuses everything but giving back.
// - What the real driver forbids ends the process: CUDA in a host function, waiting or taking memory in
//   a capture.
//
// It lacks a limit to which memory devices reach of each other. Freeing device memory waits for the
// device only where fake_free_waits() says so. But the memory stays until what is in its streams is
// done.
//
// Variables of the environment:
//
//   FAKE_DRIVER_CUDA          the version of CUDA that it is of, such as 12.4 (13.0)
//   FAKE_CAPABILITY           the devices' compute capability (9.0)
//   FAKE_MPS                  MPS runs
//   FAKE_SEED                 a number that chooses the pieces of copies; read when the library is loaded
//   FAKE_WITHOUT_DESCRIPTORS  memory of cuMemCreate has no descriptors
//   FAKE_WITHOUT_SEGMENTS     there is no cuMemCreate
//   FAKE_WITHOUT_IPC          no memory has a CUDA IPC handle
//   FAKE_MEMORY_OPERATIONS    of streams. refused: the driver takes none; unbatched: one at a time
//                             only; lost: it takes writes and does not carry them out
#pragma once

#include <string>

#include "core/cuda/api.h"

struct CUgraphExec_st;

namespace rondo::test {
using GraphExec = CUgraphExec_st*;
}

enum class FakeLink { pcie, nvlink, none };

extern "C" {
// More functions of the driver, for tests alone.
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

// Functions that no driver has.
/// The next call of `function` returns `status` and does nothing.
void fake_fail_next(const char* function, int status);
/// The next call of `function` ends this process by SIGKILL.
void fake_die_in(const char* function);
/// How often this process has called `function`, without "_v2" and the like.
int fake_calls(const char* function);
/// Device memory that was not given back, in blocks; claims on segments and reserved addresses, too.
int fake_blocks();
/// Blocks of page-locked memory. Contexts keep them for the next communicator.
int fake_pinned_blocks();
/// Ranges of addresses that were reserved for segments and not given back.
int fake_reservations();
/// Descriptors of segments that are open in this process beside the driver's own.
int fake_descriptors();
/// Like cuMemAlloc, but no handle names the memory, as with memory of pools.
int fake_allocate_unshared(rondo::cuda::DevicePointer* pointer, std::size_t bytes);
/// Bytes that streams have copied so far.
std::size_t fake_copied_bytes();
/// From here on devices say that so many bytes are left; 0: a lot.
void fake_memory_left(std::size_t bytes);
/// How often primary contexts of `device` were retained and not released; -1: of all devices.
int fake_retained(int device);
/// How two devices reach each other's memory from here on. Every pair does so by PCIe at first.
void fake_set_link(int device, int peer, FakeLink link);
/// The form of the image that was loaded last: "machine code for 9.0" or "PTX". Valid until this
/// thread's next call.
const char* fake_loaded_form();
/// Kernels that have run, or begun to; -1: unknown, as with a real driver.
int fake_launches();
/// The same for kernels that wait for those of other ranks.
int fake_resident_launches();
/// Those of them that read or write windows of other ranks.
int fake_window_launches();
/// Their threads that may use such windows now.
int fake_in_windows();
/// Launches, refused ones too, in a domain of memory synchronisation that is not the usual one.
int fake_launches_in_own_domain();
/// From here on a stream's queue has room for so many entries; 0: for all. A thread that finds it
/// full waits for room, and keeps all other threads of its context waiting, as a driver may.
void fake_limit_queues(std::size_t entries);
/// The most entries that any queue has held since then.
std::size_t fake_longest_queue();
/// Whether cuMemFree, cuIpcCloseMemHandle and cuMemHostUnregister wait from here on until all streams
/// of the device have done what is in them. Meanwhile nothing can be put into a stream. The real
/// driver does so.
void fake_free_waits(bool waits);
/// As if the program had destroyed the context and made another one, which got its address. What
/// was loaded into the old one cannot be launched any more. Its streams and memory stay.
void fake_renew_context(rondo::cuda::Context context);
/// Streams made from here on share so many queues of their context, in turn. What waits at the head
/// of a queue holds up all that is behind it, whatever the streams are, as a device's few
/// connections may. 0: each stream has its own queue.
void fake_share_queues(std::size_t queues_of_context);
/// As if a kernel had crashed in the context: its streams do nothing more, and its functions return
/// `status`, unless it is renewed.
void fake_break_context(rondo::cuda::Context context, int status = 700);
/// How often two pieces of work that ran at the same time touched the same bytes, and one of them
/// wrote there. Each is reported on stderr.
int fake_races();
/// From here on so many threads run each block of a kernel that waits for others; 2 at first.
void fake_block_threads(unsigned threads);
/// From here on what is put into streams is noted, for the next function. Each thread's clock begins.
void fake_note_times();
/// Ends that. Returns the seconds until all that was noted would be done, by the model in timeline.h.
/// Call it when it is done. Throws std::runtime_error for what the model does not know: graphs, host
/// functions, memsets, the host's memory, kernels that wait for others.
double fake_predicted_seconds();
/// As if a device's context had been destroyed: all its memory is nobody's any more. Not for device
/// 0, as host memory has that number, too.
void fake_lose_memory(int device);
}
