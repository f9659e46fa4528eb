#include "rondo/quantized.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "rondo/rondo.h"

namespace rondo {
namespace {

using BlockValues = std::array<float, values_in_a_block>;

/// To nearest even, for |value| < 2^22. Unlike lrintf() it is vectorised for every processor.
float round(float value) {
  constexpr float shift = 3 << 22;  // adding it leaves no bits behind the point
  return (value + shift) - shift;
}

void encode(const BlockValues& values, QuantizedBlock& block) {
  float largest = 0;
  float checked = 0;  // NaN as soon as one value is not finite
  for (const float value : values) {
    largest = std::max(largest, std::fabs(value));
    checked += value * 0.0F;
  }
  block.unit = checked == 0 ? largest / 127 : std::numeric_limits<float>::quiet_NaN();
  // Of numbers so small that their unit has no inverse, nothing is kept.
  const float inverse = 1 / block.unit;
  const bool holds = inverse <= std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < values.size(); ++i)
    block.values[i] = static_cast<std::int8_t>(holds ? round(values[i] * inverse) : 0.0F);
}

void add(const QuantizedBlock& block, BlockValues& to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] += block.unit * static_cast<float>(block.values[i]);
}

/// The sum of blocks at any alignment.
void sum_all(const void* const* operands, std::size_t ranks, void* result,
             std::size_t count) noexcept {
  for (std::size_t at = 0; at < count; ++at) {
    BlockValues sums{};
    QuantizedBlock block;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::memcpy(&block, static_cast<const QuantizedBlock*>(operands[rank]) + at, sizeof block);
      add(block, sums);
    }
    encode(sums, block);
    std::memcpy(static_cast<QuantizedBlock*>(result) + at, &block, sizeof block);
  }
}

void sum_two(const void* left, const void* right, void* result, std::size_t count) noexcept {
  const std::array operands{left, right};
  sum_all(operands.data(), operands.size(), result, count);
}

void check_sizes(std::size_t values, std::size_t blocks, const char* call) {
  if (blocks == quantized_blocks(values)) return;
  throw Error(ErrorCode::invalid_argument,
              std::to_string(blocks) + " blocks for " + std::to_string(values) + " values, needs " +
                  std::to_string(quantized_blocks(values)),
              {.call = call, .remedy = "make quantized_blocks(values) blocks"});
}

/// Of the values. Those that lack in the last block are 0.
std::size_t begin_of(std::size_t block) { return block * values_in_a_block; }

}  // namespace

constexpr OperatorOn<QuantizedBlock> quantized_sum{
    {"quantized sum", sizeof(QuantizedBlock), Commutes::yes, sum_two, sum_all}};

void quantize(std::span<const float> values, std::span<QuantizedBlock> blocks) {
  check_sizes(values.size(), blocks.size(), "quantize");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto own =
        values.subspan(begin_of(i), std::min(values_in_a_block, values.size() - begin_of(i)));
    BlockValues all{};
    std::ranges::copy(own, all.begin());
    encode(all, blocks[i]);
  }
}

void dequantize(std::span<const QuantizedBlock> blocks, std::span<float> values) {
  check_sizes(values.size(), blocks.size(), "dequantize");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    BlockValues all{};
    add(blocks[i], all);
    const std::size_t left = std::min(values_in_a_block, values.size() - begin_of(i));
    std::copy_n(all.begin(), left, values.begin() + static_cast<std::ptrdiff_t>(begin_of(i)));
  }
}

void all_reduce_quantized(Communicator& world, std::span<float> values) {
  std::vector<QuantizedBlock> blocks(quantized_blocks(values.size()));
  quantize(values, blocks);
  world.all_reduce(blocks, blocks, quantized_sum);
  dequantize(blocks, values);
}

}  // namespace rondo
