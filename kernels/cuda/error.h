// CUDA's error codes as rondo's errors.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "rondo/error.h"

namespace rondo::device {

/// Throws Error{out_of_memory or system} that says what was attempted, unless `status` is success.
inline void demand(cudaError_t status, const std::string& attempt) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // not left for the caller's next CUDA call to find
  const bool memory = status == cudaErrorMemoryAllocation;
  throw Error(memory ? ErrorCode::out_of_memory : ErrorCode::system,
              attempt + " failed: " + cudaGetErrorString(status));
}

}  // namespace rondo::device
