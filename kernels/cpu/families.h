// Inside the CPU kernels: one kernel per type and operator, found once per call.
#pragma once

#include <cstddef>

#include "rondo/types.h"

namespace rondo::cpu {

/// Combines `operand_count` >= 2 operands of `bytes` bytes each, left to right, into output.
using ReduceKernel = void (*)(std::byte* output, const void* const* operands,
                              std::size_t operand_count, std::size_t bytes);
/// output = input * factor, element by element.
using ScaleKernel = void (*)(std::byte* output, const void* input, double factor,
                             std::size_t bytes);

// Each family of types is compiled in its own file. avg is sum here; nullptr for another family.
ReduceKernel find_integer_sum(DataType type, ReduceOperator op);    ///< sum and prod
ReduceKernel find_integer_order(DataType type, ReduceOperator op);  ///< min and max
ReduceKernel find_float_wide(DataType type, ReduceOperator op);
ReduceKernel find_small_float(DataType type, ReduceOperator op);
ScaleKernel find_scale(DataType type);

}  // namespace rondo::cpu
