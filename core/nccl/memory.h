// Memory of ncclMemAlloc, and questions about the memory, streams and devices of the program.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/nccl/include/nccl.h"
#include "core/nccl/settings.h"

namespace rondo::nccl {

/// Throws Error{invalid_argument} for device memory, and for none, where a number is read at once;
/// `name` is the argument's.
void require_host(const void* pointer, std::string_view name);

/// Returns when what was put into `stream` before is complete. Without the driver: at once. Throws
/// cuda::CudaError.
void finish_stream(cudaStream_t stream);

/// The number of this thread's device; 0 without a CUDA context.
int current_device();
/// The traits of a communicator that is made on this thread. The program keeps the context. A thread
/// without one has device 0's primary context, as for CUDA's runtime, if CUDA is initialised.
Traits current_traits();

/// `bytes` of device memory where this thread has a CUDA context, else of rondo::allocate() memory.
/// It is known by its address. On a device it comes from cuMemCreate, in whole units of the driver,
/// where RONDO_CUMEM_ENABLE, driver and device allow that, else from cuMemAlloc: RONDO_DEBUG=INFO
/// says why. Thread-safe. Throws CudaError.
void* allocate_memory(std::size_t bytes);
/// Everything in streams that needed it must be complete. Throws Error{invalid_argument} for an
/// address that allocate_memory() did not return. Throws CudaError where the driver does not take
/// the block back. Then it is still there, to be freed again.
void free_memory(void* pointer);

}  // namespace rondo::nccl
