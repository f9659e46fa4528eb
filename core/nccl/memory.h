// Memory of the library's own, and what has to be known of the client's.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/cuda/api.h"
#include "core/nccl/include/nccl.h"
#include "core/nccl/settings.h"

namespace rondo::nccl {

/// Throws Error{invalid_argument} for device memory, and for none, where a number is read at once;
/// `name` is the argument's.
void require_host(const void* pointer, std::string_view name);

/// What was put into `stream` before is complete. Without the driver: at once. Throws
/// cuda::CudaError.
void finish_stream(cudaStream_t stream);

/// This thread's CUDA context, if there is one, and the number of its device; 0 without one.
cuda::Context current_context();
int current_device();
/// Of a communicator that is made on this thread: the program keeps the context.
Traits current_traits();

/// `bytes` of device memory where this thread has a CUDA context, else of rondo::allocate() memory;
/// known by its address. On a device it is of cuMemCreate, in whole units of the driver, where
/// RONDO_CUMEM_ENABLE, driver and device allow, else of cuMemAlloc: RONDO_DEBUG=INFO says why.
/// Thread-safe. Throws CudaError.
void* allocate_memory(std::size_t bytes);
/// With what needed it in streams complete. Throws Error{invalid_argument} for an address that
/// allocate_memory() did not return; CudaError where the driver does not take it back, and then the
/// block is there still, to be freed again.
void free_memory(void* pointer);

}  // namespace rondo::nccl
