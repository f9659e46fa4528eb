// CPU reductions for every type and operator, vectorised, chosen at run time for the machine.
// 16- and 8-bit floats are combined in float32 and rounded once, to nearest even, at the end of
// each call (float8_e4m3 saturates to its largest finite value; float8_e5m2 and float16 overflow to
// infinity; NaN in gives NaN out, for min and max too).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "rondo/types.h"

namespace rondo {

/// output[i] = operands[0][i] (op) operands[1][i] (op) ... for i < count, left to right.
/// At least one operand. `output` may be the same pointer as any operand; other overlap is not
/// allowed. No alignment is needed. Integers wrap; avg means sum here (see scale). Thread-safe.
void reduce(DataType type, ReduceOperator op, void* output, std::span<const void* const> operands,
            std::size_t count);

/// Floats: output[i] = input[i] * factor, computed in float32 (float64 for float64). avg's first
/// half. Integers: output[i] = input[i]. In place allowed.
void scale(DataType type, void* output, const void* input, double factor, std::size_t count);

/// Integers: values[i] /= divisor, truncating towards zero. Floats: nothing. avg's second half.
void divide(DataType type, void* values, std::size_t divisor, std::size_t count);

/// The instruction set in use, e.g. "AVX3", for logs and benchmarks.
std::string_view reduce_target();

}  // namespace rondo
