// Inside the CPU kernels: one kernel for each type and operator, looked up once per call.
#pragma once

#include <cstddef>

#include "rondo/types.h"

namespace rondo::cpu {

/// What a kernel combines, left to right: at least one.
struct Operands {
  const void* const* pointers;
  std::size_t count;
};

/// Where results go: at least one.
struct Outputs {
  void* const* pointers;
  std::size_t count;
};

/// Combines `bytes` bytes of each operand, times the factor where the kernel is a scaled one. With
/// streaming, results go past the caches where they are aligned. All arguments pass in registers:
/// through memory they would cost as much as a short reduction.
using ReduceKernel = void (*)(Outputs outputs, Operands operands, bool streaming, double factor,
                              std::size_t bytes);

// Each family of types is compiled in its own file. avg is sum here; nullptr for another family.
ReduceKernel find_integer_sum(DataType type, ReduceOperator op);    ///< sum and prod
ReduceKernel find_integer_order(DataType type, ReduceOperator op);  ///< min and max
ReduceKernel find_integer_bits(ReduceOperator op);                  ///< of any type: bit_and, ...
ReduceKernel find_float_wide(DataType type, ReduceOperator op, bool scaled);
ReduceKernel find_float_in_double(ReduceOperator op, bool scaled);  ///< float32 only
ReduceKernel find_small_float(DataType type, ReduceOperator op, bool scaled);

}  // namespace rondo::cpu
