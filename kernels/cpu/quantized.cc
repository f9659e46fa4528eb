// float32 as 8-bit numbers, a block at a time. Compiled without fused multiply-adds, whose bits are others.
#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantized.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/quantized.h"
#include "rondo/quantized.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, values_in_a_block / 4>;
using Integers = hn::RebindToSigned<Floats>;
using Numbers = hn::Rebind<std::int8_t, Floats>;
using Codes = hn::Rebind<std::uint8_t, Floats>;  ///< the same, as their bits
inline constexpr std::size_t lanes = hn::MaxLanes(Floats());

struct alignas(64) BlockValues {
  float at[values_in_a_block];
};

/// Block `index` of an array at any alignment.
HWY_INLINE const std::byte* block_of(const void* blocks, std::size_t index) {
  return static_cast<const std::byte*>(blocks) + index * sizeof(QuantizedBlock);
}
HWY_INLINE std::byte* block_of(void* blocks, std::size_t index) {
  return static_cast<std::byte*>(blocks) + index * sizeof(QuantizedBlock);
}

/// The largest magnitude / 127, or NaN where a value is not finite. Bits of magnitudes are in order.
HWY_INLINE float unit_of(const float* values) {
  auto largest = hn::Zero(Integers());
  for (std::size_t i = 0; i < values_in_a_block; i += lanes) {
    const auto magnitudes = hn::Abs(hn::LoadU(Floats(), values + i));
    largest = hn::Max(largest, hn::BitCast(Integers(), magnitudes));
  }
  const float found = std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(Integers(), largest)));
  return found <= std::numeric_limits<float>::max() ? found / 127
                                                    : std::numeric_limits<float>::quiet_NaN();
}

/// Rounds to nearest even. Of numbers so small that their unit has no inverse, nothing is kept.
HWY_INLINE void encode(const float* values, std::byte* block) {
  const float unit = unit_of(values);
  std::memcpy(block, &unit, sizeof unit);
  auto* const to = reinterpret_cast<std::uint8_t*>(block + sizeof unit);
  const float inverse = 1 / unit;
  if (!(inverse <= std::numeric_limits<float>::max())) {
    std::memset(to, 0, values_in_a_block);
    return;
  }
  // The sum of this and a small number has the nearest integer in its lowest bits.
  const auto shift = hn::Set(Floats(), float{3 << 22});
  for (std::size_t i = 0; i < values_in_a_block; i += lanes) {
    const auto scaled = hn::Mul(hn::LoadU(Floats(), values + i), hn::Set(Floats(), inverse));
    const auto bits = hn::BitCast(hn::RebindToUnsigned<Floats>(), hn::Add(scaled, shift));
    hn::StoreU(hn::TruncateTo(Codes(), bits), Codes(), to + i);
  }
}

/// The sums of all operands' blocks `index`, some vectors at a time: as many as the registers hold.
HWY_INLINE void add(const void* const* operands, std::size_t size, std::size_t index, float* sums) {
  constexpr std::size_t group = 4;
  for (std::size_t first = 0; first < values_in_a_block; first += group * lanes) {
    hn::Vec<Floats> vectors[group];
    for (auto& vector : vectors) vector = hn::Zero(Floats());
    for (std::size_t j = 0; j < size; ++j) {
      const std::byte* const block = block_of(operands[j], index);
      float unit;
      std::memcpy(&unit, block, sizeof unit);
      const auto* from = reinterpret_cast<const std::int8_t*>(block + sizeof unit) + first;
      for (std::size_t i = 0; i < group; ++i) {
        const auto numbers = hn::PromoteTo(Integers(), hn::LoadU(Numbers(), from + i * lanes));
        const auto products = hn::Mul(hn::Set(Floats(), unit), hn::ConvertTo(Floats(), numbers));
        vectors[i] = hn::Add(vectors[i], products);
      }
    }
    for (std::size_t i = 0; i < group; ++i)
      hn::StoreU(vectors[i], Floats(), sums + first + i * lanes);
  }
}

/// left_out[i] = what the block does not hold of values[i]: nothing, where it holds no number.
HWY_INLINE void subtract(const float* values, const void* block, std::size_t count,
                         float* left_out) {
  BlockValues held;
  add(&block, 1, 0, held.at);
  for (std::size_t i = 0; i < count; ++i)
    left_out[i] = std::isfinite(held.at[i]) ? values[i] - held.at[i] : 0;
}

void quantize(const float* values, std::size_t count, void* blocks, float* left_out) {
  for (std::size_t at = 0; at < count; at += values_in_a_block) {
    const std::size_t own = std::min(values_in_a_block, count - at);
    std::byte* const block = block_of(blocks, at / values_in_a_block);
    if (own == values_in_a_block && left_out == nullptr) {
      encode(values + at, block);
      continue;
    }
    BlockValues all{};
    for (std::size_t i = 0; i < own; ++i)
      all.at[i] = left_out == nullptr ? values[at + i] : left_out[at + i] + values[at + i];
    encode(all.at, block);
    if (left_out != nullptr) subtract(all.at, block, own, left_out + at);
  }
}

void dequantize(const void* blocks, std::size_t count, float* values) {
  const std::size_t whole = count / values_in_a_block;
  for (std::size_t i = 0; i < whole; ++i) add(&blocks, 1, i, values + i * values_in_a_block);
  if (count % values_in_a_block == 0) return;
  BlockValues last;
  add(&blocks, 1, whole, last.at);
  std::copy_n(last.at, count % values_in_a_block, values + whole * values_in_a_block);
}

void sum_quantized(const void* const* operands, std::size_t size, void* result,
                   std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) {
    BlockValues sums;
    add(operands, size, i, sums.at);
    encode(sums.at, block_of(result, i));
  }
}

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::cpu {
HWY_EXPORT(quantize);
HWY_EXPORT(dequantize);
HWY_EXPORT(sum_quantized);

void quantize(const float* values, std::size_t count, void* blocks, float* left_out) {
  HWY_DYNAMIC_DISPATCH(quantize)(values, count, blocks, left_out);
}
void dequantize(const void* blocks, std::size_t count, float* values) {
  HWY_DYNAMIC_DISPATCH(dequantize)(blocks, count, values);
}
void sum_quantized(const void* const* operands, std::size_t size, void* result,
                   std::size_t blocks) {
  HWY_DYNAMIC_DISPATCH(sum_quantized)(operands, size, result, blocks);
}
}  // namespace rondo::cpu
#endif
