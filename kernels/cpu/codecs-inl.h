// Codecs: how a vector of words holds elements. A codec unpacks one part of each word to a vector
// that the operator works on. It packs the result back to that part, with the other parts zero.
// - A word with two parts is unrolled: then the part is a std::integral_constant. Else it is an
//   int.
// - Work is lane by lane. Four 8-bit floats share one 32-bit lane. So neither shuffles nor widening
//   loads are needed.
// Included once for each instruction set.
#if defined(RONDO_KERNELS_CPU_CODECS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_CODECS_INL_H_
#undef RONDO_KERNELS_CPU_CODECS_INL_H_
#else
#define RONDO_KERNELS_CPU_CODECS_INL_H_
#endif

#include <bit>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/convert.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The operator works on the type as it is.
template <class T>
struct Plain {
  using Word = T;
  static constexpr int parts = 1;
  template <class Part, class D, class V = hn::Vec<D>>
  static HWY_INLINE V unpack(Part, D, V word) {
    return word;
  }
  template <class Part, class D, class V = hn::Vec<D>>
  static HWY_INLINE V pack(Part, D, V value) {
    return value;
  }
};

/// 8-bit integers for a product, which no machine multiplies: two in each 16-bit lane. Bits above
/// the low eight never reach them, so they may hold anything until packed.
struct BytePairs {
  using Word = std::uint16_t;
  static constexpr int parts = 2;
  template <class Part, class D, class V = hn::Vec<D>>
  static HWY_INLINE V unpack(Part part, D, V word) {
    if constexpr (part == 0) return word;
    return hn::ShiftRight<8>(word);
  }
  template <class Part, class D, class V = hn::Vec<D>>
  static HWY_INLINE V pack(Part part, D d, V value) {
    if constexpr (part == 0) return hn::And(value, hn::Set(d, 0x00ff));
    return hn::ShiftLeft<8>(value);
  }
};

/// Two bfloat16 in each 32-bit lane, worked on as float32.
struct Bfloat16 {
  using Word = std::uint32_t;
  static constexpr int parts = 2;

  template <class Part, class D, class V = hn::Vec<D>>
  static HWY_INLINE auto unpack(Part part, D d, V word) {
    const hn::RebindToFloat<D> df;
    if constexpr (part == 0) return hn::BitCast(df, hn::ShiftLeft<16>(word));
    return hn::BitCast(df, hn::And(word, hn::Set(d, 0xffff0000u)));
  }
  template <class Part, class D, class VF>
  static HWY_INLINE auto pack(Part part, D d, VF value) {
    const auto bits = hn::BitCast(d, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fffu)));
    const auto quiet = hn::Or(bits, hn::Set(d, 0x00400000u));
    const auto is_nan = hn::RebindMask(d, hn::IsNaN(value));
    const auto result = hn::IfThenElse(is_nan, quiet, rounded);
    if constexpr (part == 0) return hn::ShiftRight<16>(result);
    return hn::And(result, hn::Set(d, 0xffff0000u));
  }
};

/// Magnitudes as bits: non-negative as signed integers too, which every machine compares.
template <class D, class V = hn::Vec<D>>
HWY_INLINE auto smaller(D d, V a, V b) {
  const hn::RebindToSigned<D> di;
  return hn::RebindMask(d, hn::Lt(hn::BitCast(di, a), hn::BitCast(di, b)));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V smaller_of(D d, V a, V b) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::Min(hn::BitCast(di, a), hn::BitCast(di, b)));
}

/// Two or four small floats in each 32-bit lane, worked on as float32: convert.h's widen and
/// narrow without branches.
template <SmallFloat format>
struct Small {
  using Word = std::uint32_t;
  using Bits = SmallFloatBits<format>;
  static constexpr int parts = 32 / format.bits();

  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE auto unpack(int part, D d, V word) {
    const hn::RebindToFloat<D> df;
    const V top = hn::ShiftLeftSame(word, 32 - format.bits() * (part + 1));
    const V sign = hn::And(top, hn::Set(d, 0x80000000u));
    constexpr std::uint32_t mask = (format.sign_code() - 1) << (32 - format.bits());
    const V magnitude = hn::ShiftRight<8 - format.exponent_bits>(hn::And(top, hn::Set(d, mask)));
    const V normal = hn::Add(magnitude, hn::Set(d, Bits::rebias));
    const V one = hn::Set(d, Bits::rebias + (1u << 23));
    const V subnormal =
        hn::BitCast(d, hn::Sub(hn::BitCast(df, hn::Add(magnitude, one)), hn::BitCast(df, one)));
    const V finite = hn::IfThenElse(smaller(d, magnitude, hn::Set(d, 1u << 23)), subnormal, normal);
    const V special =
        format.has_infinity ? hn::Or(magnitude, hn::Set(d, 0x7f800000u)) : hn::Set(d, 0x7fc00000u);
    const V last_finite = hn::Set(d, (Bits::first_special << Bits::dropped_bits) - 1);
    const V result = hn::IfThenElse(smaller(d, last_finite, magnitude), special, finite);
    return hn::BitCast(df, hn::Or(sign, result));
  }

  template <class D, class VF>
  static HWY_INLINE auto pack(int part, D d, VF value) {
    const hn::RebindToFloat<D> df;
    const auto bits = hn::BitCast(d, value);
    const auto sign = hn::And(bits, hn::Set(d, 0x80000000u));
    const auto unclipped = hn::Xor(bits, sign);
    const auto magnitude = smaller_of(d, unclipped, hn::Set(d, Bits::clip));
    const auto magic = hn::Set(d, Bits::subnormal_magic);
    const auto subnormal =
        hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, magic))), magic);
    const auto odd = hn::And(hn::ShiftRight<Bits::dropped_bits>(magnitude), hn::Set(d, 1u));
    constexpr std::uint32_t below_half = (1u << (Bits::dropped_bits - 1)) - 1;
    const auto rounding = hn::Set(d, below_half - Bits::rebias);  // wraps as meant
    const auto normal =
        hn::ShiftRight<Bits::dropped_bits>(hn::Add(hn::Add(magnitude, rounding), odd));
    const auto is_subnormal = smaller(d, magnitude, hn::Set(d, Bits::smallest_normal));
    const auto number = hn::IfThenElse(is_subnormal, subnormal, normal);
    const auto is_nan = smaller(d, hn::Set(d, 0x7f800000u), unclipped);
    const auto code = hn::IfThenElse(is_nan, hn::Set(d, format.nan_code()), number);
    const auto result = hn::Or(code, hn::ShiftRight<32 - format.bits()>(sign));
    return hn::ShiftLeftSame(result, format.bits() * part);
  }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
/// float16 where the machine converts it (F16C): part 0 is the lower half of the vector, part 1
/// the upper.
struct Float16 {
  using Word = std::uint32_t;
  static constexpr int parts = 2;
  template <class D>
  using Halves = hn::Repartition<hwy::float16_t, D>;

  template <class Part, class D, class V = hn::Vec<D>>
  static HWY_INLINE auto unpack(Part part, D, V word) {
    const hn::RebindToFloat<D> df;
    const hn::Repartition<std::uint16_t, D> codes;
    const hn::Half<decltype(codes)> half;
    const hn::Rebind<hwy::float16_t, decltype(half)> half_float;
    const auto all = hn::BitCast(codes, word);
    if constexpr (part == 0) {
      return hn::PromoteTo(df, hn::BitCast(half_float, hn::LowerHalf(half, all)));
    } else {
      return hn::PromoteTo(df, hn::BitCast(half_float, hn::UpperHalf(half, all)));
    }
  }
  template <class Part, class D, class VF>
  static HWY_INLINE auto pack(Part part, D d, VF value) {
    const hn::Repartition<std::uint16_t, D> codes;
    const hn::Half<decltype(codes)> half;
    const hn::Rebind<hwy::float16_t, decltype(half)> half_float;
    const auto result = hn::BitCast(half, hn::DemoteTo(half_float, value));
    if constexpr (part == 0) return hn::BitCast(d, hn::ZeroExtendVector(codes, result));
    return hn::BitCast(d, hn::Combine(codes, result, hn::Zero(half)));
  }
};
#else
using Float16 = Small<float16_format>;
#endif

#if HWY_TARGET == HWY_SCALAR
/// Two float32 in the one 64-bit lane, worked on as float64.
struct Float32InDouble {
  using Word = std::uint64_t;
  static constexpr int parts = 2;

  template <class Part, class D, class V = hn::Vec<D>>
  static HWY_INLINE auto unpack(Part part, D, V word) {
    const auto bits = static_cast<std::uint32_t>(hn::GetLane(word) >> (32 * part));
    return hn::Set(hn::RebindToFloat<D>(), static_cast<double>(std::bit_cast<float>(bits)));
  }
  template <class Part, class D, class VD>
  static HWY_INLINE auto pack(Part part, D d, VD value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(hn::GetLane(value)));
    return hn::Set(d, std::uint64_t{bits} << (32 * part));
  }
};
#else
/// Two float32 in each 64-bit lane, worked on as float64: part 0 is the lower half of the vector,
/// part 1 the upper.
struct Float32InDouble {
  using Word = std::uint64_t;
  static constexpr int parts = 2;

  template <class Part, class D, class V = hn::Vec<D>>
  static HWY_INLINE auto unpack(Part part, D, V word) {
    const hn::RebindToFloat<D> doubles;
    const hn::Repartition<float, D> floats;
    const hn::Half<decltype(floats)> half;
    const auto all = hn::BitCast(floats, word);
    if constexpr (part == 0) {
      return hn::PromoteTo(doubles, hn::LowerHalf(half, all));
    } else {
      return hn::PromoteTo(doubles, hn::UpperHalf(half, all));
    }
  }
  template <class Part, class D, class VD>
  static HWY_INLINE auto pack(Part part, D d, VD value) {
    const hn::Repartition<float, D> floats;
    const hn::Half<decltype(floats)> half;
    const auto result = hn::DemoteTo(half, value);
    if constexpr (part == 0) return hn::BitCast(d, hn::ZeroExtendVector(floats, result));
    return hn::BitCast(d, hn::Combine(floats, result, hn::Zero(half)));
  }
};
#endif

using Float8E4m3 = Small<float8_e4m3_format>;
using Float8E5m2 = Small<float8_e5m2_format>;

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per instruction set
