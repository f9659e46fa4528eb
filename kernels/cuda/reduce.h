// The reductions of kernels/cpu/reduce.h on device memory, ordered by a CUDA stream.
#pragma once

#include <cstddef>

#include "rondo/types.h"

namespace rondo {

inline constexpr int max_device_operands = 8;

/// output[i] = operands[0][i] (op) operands[1][i] (op) ... for i < count, left to right, on the
/// current device. `operands` is host memory that holds 1 to max_device_operands device pointers;
/// it is read before the call returns. Pointers must be aligned to their element; 16-byte alignment
/// of all of them is fastest. `output` may be one of the operands; other overlap is not allowed.
/// `stream` is a cudaStream_t, null for the default one. Returns when the kernel is enqueued.
/// Same numbers as on the CPU: small floats are combined in float32 and rounded once, integers
/// wrap, NaN in gives NaN out, avg means sum. Throws Error when an argument is wrong or the launch
/// fails. Thread-safe.
void reduce_on_device(DataType type, ReduceOperator op, void* output, const void* const* operands,
                      int operand_count, std::size_t count, void* stream);

}  // namespace rondo
