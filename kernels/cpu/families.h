// Inside the CPU kernels: one kernel per type and operator, found once per call.
#pragma once

#include <cstddef>

#include "rondo/types.h"

namespace rondo::cpu {

/// What a kernel combines, left to right: at least one.
struct Operands {
  const void* const* pointers;
  std::size_t count;
};

/// Where results go: at least one; with streaming, past the caches where they are aligned.
struct Outputs {
  void* const* pointers;
  std::size_t count;
  bool streaming;
};

/// Combines `bytes` bytes of each operand, times the factor where the kernel is a scaled one.
using ReduceKernel = void (*)(const Outputs& outputs, const Operands& operands, double factor,
                              std::size_t bytes);

// Each family of types is compiled in its own file. avg is sum here; nullptr for another family.
ReduceKernel find_integer_sum(DataType type, ReduceOperator op);    ///< sum and prod
ReduceKernel find_integer_order(DataType type, ReduceOperator op);  ///< min and max
ReduceKernel find_float_wide(DataType type, ReduceOperator op, bool scaled);
ReduceKernel find_small_float(DataType type, ReduceOperator op, bool scaled);

}  // namespace rondo::cpu
