// Sums of float32 with a quarter of the bytes on the way: 8-bit whole numbers, and a unit for each 128.
//
//   std::vector<float> gradients = ...;
//   rondo::all_reduce_quantized(world, gradients);      // in place, about 0.9 % off, on every rank alike
//
// - A block's unit is its largest magnitude / 127. A value is off by half a unit at most.
// - Each rank's values are rounded once. They are added in float32, in the order of ranks, and the sum is
//   rounded once more. So every rank gets the same bits.
// - 132 bytes take the place of 512. Where a block's values differ much in size, the small ones are lost.
// - A value that is infinite or not a number makes its block's sum NaN.
//
// Worth it where bytes decide, such as between hosts. In shared memory rounding takes about what they save.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rondo/operator.h"

namespace rondo {

class Communicator;

inline constexpr std::size_t values_in_a_block = 128;

struct QuantizedBlock {
  float unit;
  std::array<std::int8_t, values_in_a_block> values;
};
static_assert(sizeof(QuantizedBlock) == 132, "blocks are sent as they lie");

/// Blocks for so many values. The last one may be partly filled.
constexpr std::size_t quantized_blocks(std::size_t values) {
  return (values + values_in_a_block - 1) / values_in_a_block;
}

/// There are quantized_blocks(values.size()) blocks, or Error{invalid_argument}. Thread-safe.
/// - `left_out`: nothing, or as many as the values, in memory of its own. Then values[i] + left_out[i]
///   is rounded, and left_out[i] becomes what that is off, or 0 where it is no number (error feedback).
void quantize(std::span<const float> values, std::span<QuantizedBlock> blocks,
              std::span<float> left_out = {});
void dequantize(std::span<const QuantizedBlock> blocks, std::span<float> values);

/// The sum of all ranks' blocks, for any collective that reduces.
extern const OperatorOn<QuantizedBlock> quantized_sum;

/// values[i] = the sum over all ranks of values[i], complete on return, in a Group as well. Long vectors
/// are several calls, a megabyte each. Errors are those of Communicator::all_reduce().
/// - `left_out`: as for quantize(). What the sums themselves are off is lost.
void all_reduce_quantized(Communicator& world, std::span<float> values,
                          std::span<float> left_out = {});

}  // namespace rondo
