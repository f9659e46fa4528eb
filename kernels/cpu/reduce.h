// CPU reductions for every type and operator, vectorised, with the instruction set chosen at run
// time.
// - 16- and 8-bit floats are combined in float32, and float32 in float64 where that is asked for.
//   The result is rounded once, to nearest even, at the end of each call.
// - float8_e4m3 saturates to its largest finite value. float8_e5m2 and float16 overflow to
//   infinity.
// - NaN in gives NaN out, for min and max too.
// Everything here is thread-safe, needs no alignment, and throws Error before it writes anything.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "kernels/cpu/families.h"
#include "rondo/operator.h"
#include "rondo/types.h"

namespace rondo {

/// How operands are combined and where the results go.
struct Combination {
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;  ///< avg is sum here: its division is the factor's
  double factor = 1.0;            ///< multiplies a float result before it is rounded; else ignored
  bool streaming = false;         ///< results go past the caches: for data larger than they are
  DataType accumulate = type;     ///< or its wide_type()
  const Operator* own = nullptr;  ///< a caller's operator takes the place of all others

  friend bool operator==(const Combination&, const Combination&) = default;
};

/// Every outputs[j][i] = (operands[0][i] (op) operands[1][i] (op) ...) * factor for i < count, left
/// to right, in one pass that reads each operand once. There are at least one output and one
/// operand. An output may be the same pointer as an operand. No other overlap is allowed, not even
/// among outputs. Integers wrap.
/// One operand and factor 1 is a copy, bit by bit. When a streaming call returns, its stores are
/// ordered before any later one, so a release store publishes them as it does others.
void reduce(const Combination& how, std::span<void* const> outputs,
            std::span<const void* const> operands, std::size_t count);

/// The same with its kernel found beforehand, for combinations that repeat: finding it takes longer
/// than adding up a cache line. Value type.
class ReductionKernel {
 public:
  explicit ReductionKernel(const Combination& how = {});
  void operator()(std::span<void* const> outputs, std::span<const void* const> operands,
                  std::size_t count) const;
  const Combination& combination() const { return how_; }

 private:
  Combination how_;
  bool scaled_ = false;
  cpu::ReduceKernel kernel_ = nullptr;
};

/// outputs[j][0..bytes) = input[0..bytes) for every j; an output equal to the input is left alone.
/// Overlap and streaming as above.
void copy(std::span<void* const> outputs, const void* input, std::size_t bytes, bool streaming);

/// One output, factor 1, through the caches.
void reduce(DataType type, ReduceOperator op, void* output, std::span<const void* const> operands,
            std::size_t count);

/// One operand, one output: floats are multiplied in float32 (float64 in float64), integers copied.
/// avg's first half where it is not the factor of a reduction.
void scale(DataType type, void* output, const void* input, double factor, std::size_t count);

/// Integers: values[i] /= divisor, truncating towards zero. Floats: nothing. avg's second half.
void divide(DataType type, void* values, std::size_t divisor, std::size_t count);

/// The instruction set in use, e.g. "AVX3", for logs and benchmarks.
std::string_view reduce_target();

}  // namespace rondo
