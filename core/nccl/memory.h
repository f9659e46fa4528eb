// Memory of the library's own, and what has to be known of the client's.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/cuda/api.h"
#include "core/nccl/include/nccl.h"

namespace rondo::nccl {

/// Throws Error{invalid_argument} for device memory where a number is read at once; `name` is the
/// argument's.
void require_host(const void* pointer, std::string_view name);

/// What was put into `stream` before is complete. Without the driver: at once. Throws
/// cuda::CudaError.
void finish_stream(cudaStream_t stream);

/// This thread's CUDA context, if there is one, and the number of its device; 0 without one.
cuda::Context current_context();
int current_device();

/// `bytes` of device memory where this thread has a CUDA context, else of rondo::allocate() memory;
/// known by its address. Thread-safe.
void* allocate_memory(std::size_t bytes);
/// Throws Error{invalid_argument} for an address that allocate_memory() did not return.
void free_memory(void* pointer);

}  // namespace rondo::nccl
