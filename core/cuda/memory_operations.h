// Memory operations of streams: a stream writes a word of host memory, or waits for its value. All
// calls in streams but those in place need them. A driver may refuse them, whatever attributes of the
// device say, so they are tried out.
#pragma once

#include "core/cuda/driver.h"

namespace rondo::cuda {

/// What to do where they do not work.
inline constexpr const char* memory_operations_remedy =
    "use a driver that allows memory operations of streams, or buffers in host memory and no "
    "device "
    "(CUDA_VISIBLE_DEVICES=)";

/// The driver refuses memory operations, or does not carry them out.
class MemoryOperationsError : public CudaError {
 public:
  using CudaError::CudaError;
};

/// Puts a write and a wait that is satisfied already into a stream of `context`, and looks at the
/// word. What works once in a context is not tried again there. Waits for the device. Thread-safe.
/// Throws MemoryOperationsError, or another CudaError where it could not be tried.
void require_memory_operations(Context context);
/// The same for operations that are put there together (cuStreamBatchMemOp).
void require_batches(Context context);

}  // namespace rondo::cuda
