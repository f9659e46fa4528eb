// Where a client's buffers lie, and memory of the library's own.
//
// The one place that knows CUDA: a process in which the CUDA driver is loaded is asked about
// pointers and streams through it; nothing is loaded or linked for that.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/nccl/include/nccl.h"

namespace rondo::nccl {

enum class Place { host, device };

/// Whether the driver is loaded. Without it there is nothing to ask it: one look serves a call.
bool has_driver();

/// Thread-safe. Without the driver in this process every pointer is host memory.
Place place_of(const void* pointer);

/// Throws Error{invalid_usage} for device memory, which calls cannot use yet; `name` is the
/// argument's.
void require_host(const void* pointer, std::string_view name);

/// What was put into `stream` before is complete. Without the driver: at once. Throws CudaError.
void finish_stream(cudaStream_t stream);

/// `bytes` of rondo::allocate() memory, known by its address. Thread-safe.
void* allocate_memory(std::size_t bytes);
/// Throws Error{invalid_argument} for an address that allocate_memory() did not return.
void free_memory(void* pointer);

}  // namespace rondo::nccl
