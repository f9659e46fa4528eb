// Blocks of 8-bit numbers (rondo/quantized.h), vectorised: rounding, its inverse, and sums.
//
// - The bits are the same for every instruction set: tests/kernels/quantized_test.cc defines them.
// - Blocks and values may lie at any alignment. `count` values need quantized_blocks(count) blocks.
// - Everything here is thread-safe.
#pragma once

#include <cstddef>

namespace rondo::cpu {

/// left_out: null, or what to add to the values beforehand. It becomes what the blocks do not hold.
void quantize(const float* values, std::size_t count, void* blocks, float* left_out);
void dequantize(const void* blocks, std::size_t count, float* values);

/// result[i] = operands[0][i] + operands[1][i] + ..., for `blocks` blocks. It may be one of the operands.
void sum_quantized(const void* const* operands, std::size_t size, void* result, std::size_t blocks);

}  // namespace rondo::cpu
