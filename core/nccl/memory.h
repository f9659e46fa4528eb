// Memory of the library's own, and what has to be known of the client's.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/nccl/include/nccl.h"

namespace rondo::nccl {

/// Throws Error{invalid_argument} for device memory where a number is read at once; `name` is the
/// argument's.
void require_host(const void* pointer, std::string_view name);

/// What was put into `stream` before is complete. Without the driver: at once. Throws
/// cuda::CudaError.
void finish_stream(cudaStream_t stream);

/// The number of this thread's CUDA device; 0 without one.
int current_device();

/// `bytes` of device memory where this thread has a CUDA context, else of rondo::allocate() memory;
/// known by its address. Thread-safe.
void* allocate_memory(std::size_t bytes);
/// Throws Error{invalid_argument} for an address that allocate_memory() did not return.
void free_memory(void* pointer);

}  // namespace rondo::nccl
