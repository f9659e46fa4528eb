// The one loop of the CPU kernels: k operands combined word by word, whatever the codec and the
// operator. Included once per instruction set.
#if defined(RONDO_KERNELS_CPU_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_LOOP_INL_H_
#undef RONDO_KERNELS_CPU_LOOP_INL_H_
#else
#define RONDO_KERNELS_CPU_LOOP_INL_H_
#endif

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/cpu/codecs-inl.h"
#include "kernels/cpu/families.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Sum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Product {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Mul(a, b);
  }
};
// Machines differ in which operand a minimum returns when one is NaN or both are zeros; the
// comparison spelled out gives the NaN, and the right operand of two equal ones, on all of them.
struct Minimum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
    } else {
      return hn::Min(a, b);
    }
  }
};
struct Maximum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(a)), a, b);
    } else {
      return hn::Max(a, b);
    }
  }
};

HWY_INLINE const std::byte* at(const Operands& operands, std::size_t j, std::size_t offset) {
  return static_cast<const std::byte*>(operands.pointers[j]) + operands.offset + offset;
}

/// Where an operand's words come from: whole vectors anywhere in memory ...
struct VectorAt {
  std::size_t offset;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const Operands& operands, std::size_t j) const {
    return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(at(operands, j, offset)));
  }
};
/// ... or the `bytes` bytes that are left for a last word, which may be part of one.
struct WordAt {
  std::size_t offset;
  std::size_t bytes;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const Operands& operands, std::size_t j) const {
    hn::TFromD<D> word{};
    const auto* left = at(operands, j, offset);
    if (bytes >= sizeof(word)) {
      std::memcpy(&word, left, sizeof(word));
    } else {
      auto* part = reinterpret_cast<std::byte*>(&word);
      for (std::size_t i = 0; i < bytes; ++i) part[i] = left[i];
    }
    return hn::Set(d, word);
  }
};

/// Four parts are long to compute; one copy of that code, out of line, costs less than a percent of
/// its time and saves most of the compile time.
template <class Codec, class Function, class D, class Source>
HWY_NOINLINE hn::Vec<D> map_many_parts(const Function& function, D d, const Source& source) {
  auto word = hn::Zero(d);
  for (int part = 0; part < Codec::parts; ++part) {
    word = hn::Or(word, function.part(part, d, source));
  }
  return word;
}

/// A word computed part by part: Function::part(part, d, source) gives each.
template <class Codec, class Function, class D, class Source>
HWY_INLINE hn::Vec<D> map_parts(const Function& function, D d, const Source& source) {
  if constexpr (Codec::parts == 1) {
    return function.part(std::integral_constant<int, 0>{}, d, source);
  } else if constexpr (Codec::parts == 2) {
    return hn::Or(function.part(std::integral_constant<int, 0>{}, d, source),
                  function.part(std::integral_constant<int, 1>{}, d, source));
  } else {
    return map_many_parts<Codec>(function, d, source);
  }
}

/// The operands combined, times the factor if scaled: the functor that body and tail share.
template <class Codec, class Operator, bool scaled>
struct Combine {
  Operands operands;
  double factor;

  template <class Part, class D, class Source>
  HWY_INLINE hn::Vec<D> part(Part part, D d, const Source& source) const {
    auto result = Codec::unpack(part, d, source.load(d, operands, 0));
    for (std::size_t j = 1; j < operands.count; ++j) {
      result = Operator{}(result, Codec::unpack(part, d, source.load(d, operands, j)));
    }
    if constexpr (scaled) {
      using Lane = hn::TFromV<decltype(result)>;
      const hn::Rebind<Lane, D> lanes;
      result = hn::Mul(result, hn::Set(lanes, static_cast<Lane>(factor)));
    }
    return Codec::pack(part, d, result);
  }
  template <class D, class Source>
  HWY_INLINE hn::Vec<D> operator()(D d, const Source& source) const {
    return map_parts<Codec>(*this, d, source);
  }
};

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> words, std::byte* output) {
  hn::StoreU(words, d, reinterpret_cast<hn::TFromD<D>*>(output));
}

/// Whole vectors; needs at least one vector of bytes. The last vector ends where the data ends and
/// may overlap the one before it. It is computed first, from operands that no store has changed
/// yet, so that the output may be an operand.
template <int unroll, class D, class Function>
HWY_INLINE void map_vectors(D d, const Function& function, std::byte* output, std::size_t bytes) {
  const std::size_t step = hn::Lanes(d) * sizeof(hn::TFromD<D>);
  const std::size_t last_offset = bytes - step;
  const auto last = function(d, VectorAt{last_offset});
  std::size_t offset = 0;
  if constexpr (unroll == 4) {
    for (; offset + 4 * step <= last_offset; offset += 4 * step) {
      const auto words0 = function(d, VectorAt{offset});
      const auto words1 = function(d, VectorAt{offset + step});
      const auto words2 = function(d, VectorAt{offset + 2 * step});
      const auto words3 = function(d, VectorAt{offset + 3 * step});
      store(d, words0, output + offset);
      store(d, words1, output + offset + step);
      store(d, words2, output + offset + 2 * step);
      store(d, words3, output + offset + 3 * step);
    }
  }
  for (; offset < last_offset; offset += step) {
    store(d, function(d, VectorAt{offset}), output + offset);
  }
  store(d, last, output + last_offset);
}

/// Fewer bytes than a vector: word by word, the last word perhaps in part.
template <class Word, class Function>
HWY_INLINE void map_words(const Function& function, std::byte* output, std::size_t bytes) {
  const hn::CappedTag<Word, 1> d;
  for (std::size_t offset = 0; offset < bytes; offset += sizeof(Word)) {
    const std::size_t left = bytes - offset;
    const Word word = hn::GetLane(function(d, WordAt{offset, left}));
    if (left >= sizeof(Word)) {
      std::memcpy(output + offset, &word, sizeof(Word));
    } else {
      const auto* part = reinterpret_cast<const std::byte*>(&word);
      for (std::size_t i = 0; i < left; ++i) output[offset + i] = part[i];
    }
  }
}

template <class Codec, class Function>
HWY_INLINE void map(const Function& function, std::byte* output, std::size_t bytes) {
  using Word = typename Codec::Word;
  const hn::ScalableTag<Word> full;
  const hn::CappedTag<Word, 16 / sizeof(Word)> sixteen_bytes;
  if (bytes >= hn::Lanes(full) * sizeof(Word)) {
    map_vectors<Codec::parts == 1 ? 4 : 1>(full, function, output, bytes);
  } else if (hn::Lanes(sixteen_bytes) < hn::Lanes(full) && bytes >= 16) {
    map_vectors<1>(sixteen_bytes, function, output, bytes);
  } else {
    map_words<Word>(function, output, bytes);
  }
}

template <class Codec, class Operator, bool scaled = false>
void reduce_kernel(std::byte* output, const Operands& operands, double factor, std::size_t bytes) {
  map<Codec>(Combine<Codec, Operator, scaled>{operands, factor}, output, bytes);
}

template <class Codec, bool scaled>
ReduceKernel float_kernel(ReduceOperator op) {
  switch (op) {
    case ReduceOperator::sum:
    case ReduceOperator::avg:
      return reduce_kernel<Codec, Sum, scaled>;
    case ReduceOperator::prod:
      return reduce_kernel<Codec, Product, scaled>;
    case ReduceOperator::min:
      return reduce_kernel<Codec, Minimum, scaled>;
    case ReduceOperator::max:
      return reduce_kernel<Codec, Maximum, scaled>;
  }
  return nullptr;
}

template <class Codec>
ReduceKernel float_kernel(ReduceOperator op, bool scaled) {
  return scaled ? float_kernel<Codec, true>(op) : float_kernel<Codec, false>(op);
}

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per instruction set
