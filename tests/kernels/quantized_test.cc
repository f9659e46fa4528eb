// Blocks of 8-bit numbers against their definition, one value at a time: the same bits for every
// instruction set, at any alignment and count.
#include "kernels/cpu/quantized.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "rondo/quantized.h"
#include "tests/catch.h"
#include "tests/kernels/buffers.h"

using namespace rondo;
using namespace rondo::testing;

namespace {

using Limits = std::numeric_limits<float>;
using Blocks = std::vector<QuantizedBlock>;

QuantizedBlock defined_block(const std::vector<float>& values) {
  const bool finite = std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  QuantizedBlock block{finite ? largest / 127 : Limits::quiet_NaN(), {}};
  const float inverse = 1 / block.unit;
  for (std::size_t i = 0; i < values.size() && inverse <= Limits::max(); ++i)
    block.values[i] = static_cast<std::int8_t>(std::nearbyintf(values[i] * inverse));
  return block;
}

Blocks defined_blocks(const std::vector<float>& values) {
  Blocks blocks;
  for (std::size_t at = 0; at < values.size(); at += values_in_a_block) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(at);
    blocks.push_back(defined_block({begin, begin + static_cast<std::ptrdiff_t>(std::min(
                                                       values_in_a_block, values.size() - at))}));
  }
  return blocks;
}

/// Products are kept from being fused with the sums.
std::vector<float> defined_sums(const std::vector<Blocks>& operands, std::size_t count) {
  std::vector<float> sums(count);
  for (const Blocks& blocks : operands) {
    for (std::size_t i = 0; i < count; ++i) {
      const QuantizedBlock& block = blocks[i / values_in_a_block];
      const volatile float product =
          block.unit * static_cast<float>(block.values[i % values_in_a_block]);
      sums[i] += product;
    }
  }
  return sums;
}

/// Each block has numbers of its own size, down to those without an inverse; some hold what is no
/// number, and some nothing.
std::vector<float> values_of(std::size_t count, unsigned seed) {
  constexpr float scales[] = {
      1, 1e-30F, 1e-37F, 3e-39F, 1e-42F, Limits::max(), 3e37F, 0, 127, Limits::denorm_min()};
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> part(-1, 1);
  std::vector<float> values(count);
  float scale = 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % values_in_a_block == 0) scale = scales[random() % std::size(scales)];
    const float halves = std::round(part(random) * 254) / 254;  // ties among them
    values[i] = scale * (random() % 2 == 0 ? halves : part(random));
    if (random() % 1024 == 0)
      values[i] = random() % 2 == 0 ? Limits::infinity() : -Limits::quiet_NaN();
  }
  return values;
}

/// The bytes in a buffer that lies `offset` bytes off a cache line.
template <class T>
Buffer placed(const std::vector<T>& values, std::size_t offset) {
  Buffer buffer(values.size() * sizeof(T), offset);
  if (buffer.size > 0) std::memcpy(buffer.data, values.data(), buffer.size);
  return buffer;
}

template <class T>
bool holds(const Buffer& buffer, const std::vector<T>& values) {
  return buffer.guards_whole() && buffer.size == values.size() * sizeof(T) &&
         (buffer.size == 0 || std::memcmp(buffer.data, values.data(), buffer.size) == 0);
}

constexpr std::size_t counts[] = {0, 1, 3, 127, 128, 129, 255, 300, 12'801};
constexpr std::size_t offsets[] = {0, 4, 20, 60};

void check_rounding(std::size_t count, std::size_t offset) {
  const std::vector<float> values = values_of(count, static_cast<unsigned>(count + offset));
  const Blocks blocks = defined_blocks(values);
  const Buffer from = placed(values, offset);
  const Buffer rounded = placed(Blocks(blocks.size()), offset + 3);
  cpu::quantize(reinterpret_cast<const float*>(from.data), count, rounded.data, nullptr);
  CHECK(holds(rounded, blocks));
  const Buffer back = placed(std::vector<float>(count), offset);
  cpu::dequantize(rounded.data, count, reinterpret_cast<float*>(back.data));
  CHECK(holds(back, defined_sums({blocks}, count)));
}

/// What was left out before is added, and what is left out now is kept.
void check_left_out(std::size_t count, std::size_t offset) {
  const std::vector<float> values = values_of(count, static_cast<unsigned>(count + offset));
  std::vector<float> left_out = values_of(count, static_cast<unsigned>(count + offset + 1));
  const Buffer from = placed(values, offset);
  const Buffer rest = placed(left_out, 2 * offset % 64);
  for (std::size_t i = 0; i < count; ++i) left_out[i] += values[i];
  const Blocks blocks = defined_blocks(left_out);
  const std::vector<float> held = defined_sums({blocks}, count);
  for (std::size_t i = 0; i < count; ++i)
    left_out[i] = std::isfinite(held[i]) ? left_out[i] - held[i] : 0;
  const Buffer rounded = placed(Blocks(blocks.size()), 0);
  cpu::quantize(reinterpret_cast<const float*>(from.data), count, rounded.data,
                reinterpret_cast<float*>(rest.data));
  CHECK(holds(rounded, blocks));
  CHECK(holds(rest, left_out));
}

void check_sums(std::size_t count, std::size_t ranks, bool in_place) {
  std::vector<Blocks> operands;
  std::vector<Buffer> buffers;
  for (std::size_t j = 0; j < ranks; ++j) {
    operands.push_back(defined_blocks(values_of(count, static_cast<unsigned>(count + j))));
    buffers.push_back(placed(operands.back(), 13 * j % 64));
  }
  const std::size_t blocks = quantized_blocks(count);
  const Buffer own = placed(Blocks(blocks), 1);
  const Buffer& result = in_place ? buffers.back() : own;
  std::vector<const void*> pointers;
  for (const Buffer& buffer : buffers) pointers.push_back(buffer.data);
  cpu::sum_quantized(pointers.data(), ranks, result.data, blocks);
  CHECK(holds(result, defined_blocks(defined_sums(operands, blocks * values_in_a_block))));
}

}  // namespace

TEST_CASE("8-bit numbers have the bits of their definition", "[quantized]") {
  for (const std::int64_t target : targets()) {
    const OnTarget on_target(target);
    for (const std::size_t count : counts) {
      INFO(hwy::TargetName(target) << ", " << count << " values");
      for (const std::size_t offset : offsets) {
        check_rounding(count, offset);
        check_left_out(count, offset);
      }
      for (const std::size_t ranks : {1, 2, 3, 8})
        for (const bool in_place : {false, true}) check_sums(count, ranks, in_place);
    }
  }
}
