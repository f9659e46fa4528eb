#include "rondo/quantized.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "core/communicator/access.h"
#include "kernels/cpu/quantized.h"

namespace rondo {
namespace {

/// A megabyte, which stays in a core's caches from one pass over it to the next.
constexpr std::size_t slice_values = std::size_t{256} << 10;

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

void check_left_out(std::span<const float> values, std::span<const float> left_out,
                    const char* call) {
  if (left_out.empty()) return;
  if (left_out.size() != values.size())
    throw Error(ErrorCode::invalid_argument,
                "left_out has " + std::to_string(left_out.size()) + " numbers for " +
                    std::to_string(values.size()) + " values",
                {.call = call, .remedy = "pass as many as values, 0 at first, or none"});
  const std::less<> before;
  if (before(left_out.data(), values.data() + values.size()) &&
      before(values.data(), left_out.data() + left_out.size()))
    throw Error(ErrorCode::invalid_argument, "left_out overlaps the values",
                {.call = call, .remedy = "give it memory of its own"});
}

}  // namespace

constexpr OperatorOn<QuantizedBlock> quantized_sum{
    {"quantized sum", sizeof(QuantizedBlock), Commutes::yes, sum_two, sum_all}};

void quantize(std::span<const float> values, std::span<QuantizedBlock> blocks,
              std::span<float> left_out) {
  check_sizes(values.size(), blocks.size(), "quantize");
  check_left_out(values, left_out, "quantize");
  cpu::quantize(values.data(), values.size(), blocks.data(),
                left_out.empty() ? nullptr : left_out.data());
}

void dequantize(std::span<const QuantizedBlock> blocks, std::span<float> values) {
  check_sizes(values.size(), blocks.size(), "dequantize");
  cpu::dequantize(blocks.data(), values.size(), values.data());
}

void all_reduce_quantized(Communicator& world, std::span<float> values, std::span<float> left_out) {
  check_left_out(values, left_out, "all_reduce_quantized");
  detail::CommunicatorState& state = detail::usable(detail::CommunicatorAccess::state(world));
  constexpr std::size_t most = quantized_blocks(slice_values);
  void* const memory = state.call_memory(most * sizeof(QuantizedBlock));
  do {
    const auto slice = values.first(std::min(slice_values, values.size()));
    const auto rest = left_out.first(std::min(slice_values, left_out.size()));
    const std::span blocks(static_cast<QuantizedBlock*>(memory), quantized_blocks(slice.size()));
    quantize(slice, blocks, rest);
    state.call(reducing_call(Collective::all_reduce, blocks.size(), quantized_sum), memory, memory);
    dequantize(blocks, slice);
    values = values.subspan(slice.size());
    left_out = left_out.subspan(rest.size());
  } while (!values.empty());
}

}  // namespace rondo
