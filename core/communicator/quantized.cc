#include "rondo/quantized.h"

#include <array>
#include <string>
#include <vector>

#include "kernels/cpu/quantized.h"
#include "rondo/rondo.h"

namespace rondo {
namespace {

/// The sum of blocks at any alignment.
void sum_all(const void* const* operands, std::size_t ranks, void* result,
             std::size_t count) noexcept {
  cpu::sum_quantized(operands, ranks, result, count);
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

}  // namespace

constexpr OperatorOn<QuantizedBlock> quantized_sum{
    {"quantized sum", sizeof(QuantizedBlock), Commutes::yes, sum_two, sum_all}};

void quantize(std::span<const float> values, std::span<QuantizedBlock> blocks) {
  check_sizes(values.size(), blocks.size(), "quantize");
  cpu::quantize(values.data(), values.size(), blocks.data());
}

void dequantize(std::span<const QuantizedBlock> blocks, std::span<float> values) {
  check_sizes(values.size(), blocks.size(), "dequantize");
  cpu::dequantize(blocks.data(), values.size(), values.data());
}

void all_reduce_quantized(Communicator& world, std::span<float> values) {
  std::vector<QuantizedBlock> blocks(quantized_blocks(values.size()));
  quantize(values, blocks);
  world.all_reduce(blocks, blocks, quantized_sum);
  dequantize(blocks, values);
}

}  // namespace rondo
