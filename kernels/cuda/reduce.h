// The reductions of kernels/cpu/reduce.h on device memory, ordered by a CUDA stream.
#pragma once

#include <cstddef>

#include "rondo/types.h"

namespace rondo {

inline constexpr int max_device_operands = 64;

struct DeviceCombination {
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;  ///< avg is sum here: its division is the factor's
  double factor = 1.0;  ///< floats: times this before it is rounded to the type; else ignored
};

/// output[i] = (operands[0][i] (op) operands[1][i] (op) ...) * factor for i < count, left to right,
/// in one pass, on the current device. `operands` is host memory that holds 1 to
/// max_device_operands device pointers; it is read before the call returns. Pointers must be
/// aligned to their element; 16-byte alignment of all of them is fastest. `output` may be one of
/// the operands; other overlap is not allowed. `stream` is a cudaStream_t, null for the default
/// one. Returns when the kernel is enqueued. Same numbers as on the CPU: small floats are combined
/// in float32 and rounded once, integers wrap, NaN in gives NaN out; one operand and factor 1 is a
/// copy, bit by bit. Throws Error when an argument is wrong or the launch fails. Thread-safe.
void reduce_on_device(const DeviceCombination& how, void* output, const void* const* operands,
                      int operand_count, std::size_t count, void* stream);

/// Integers: values[i] /= divisor, truncating towards zero; floats: nothing. avg's second half, as
/// rondo::divide on the host; otherwise as above.
void divide_on_device(DataType type, void* values, std::size_t divisor, std::size_t count,
                      void* stream);

}  // namespace rondo
