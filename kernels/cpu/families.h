// Inside the CPU kernels: one kernel per type and operator, found once per call.
#pragma once

#include <cstddef>

#include "rondo/types.h"

namespace rondo::cpu {

/// What a kernel combines, left to right: `count` >= 1 operands from byte `offset` of each on.
struct Operands {
  const void* const* pointers;
  std::size_t count;
  std::size_t offset;
};

/// Combines `bytes` bytes of each operand, times the factor where the kernel is a scaled one.
using ReduceKernel = void (*)(std::byte* output, const Operands& operands, double factor,
                              std::size_t bytes);
/// Copies one block of bytes.
using CopyKernel = void (*)(std::byte* output, const std::byte* input, std::size_t bytes);

// Each family of types is compiled in its own file. avg is sum here; nullptr for another family.
ReduceKernel find_integer_sum(DataType type, ReduceOperator op);    ///< sum and prod
ReduceKernel find_integer_order(DataType type, ReduceOperator op);  ///< min and max
ReduceKernel find_float_wide(DataType type, ReduceOperator op, bool scaled);
ReduceKernel find_small_float(DataType type, ReduceOperator op, bool scaled);
CopyKernel find_copy(bool streaming);

}  // namespace rondo::cpu
