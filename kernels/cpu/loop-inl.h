// The one loop of the CPU kernels. It combines k operands word by word, for any codec and operator.
// Included once for each instruction set.
#if defined(RONDO_KERNELS_CPU_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_LOOP_INL_H_
#undef RONDO_KERNELS_CPU_LOOP_INL_H_
#else
#define RONDO_KERNELS_CPU_LOOP_INL_H_
#endif

#include <cstddef>
#include <cstdint>
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
// Machines differ in which operand a minimum returns when one is NaN or both are zeros. The
// comparison spelled out gives the NaN, and the right operand of two equal ones, on all machines.
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

struct BitAnd {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::And(a, b);
  }
};
struct BitOr {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Or(a, b);
  }
};
struct BitXor {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Xor(a, b);
  }
};

/// Where words come from and go to: n whole vectors in a row, anywhere in memory ...
template <int n, class D>
struct VectorsAt {
  static constexpr int count = n;
  D d;
  std::size_t offset;

  static constexpr std::size_t step = sizeof(hn::TFromD<D>) * hn::MaxLanes(D());
  HWY_INLINE hn::Vec<D> load(const void* operand, int i) const {
    const auto* words = static_cast<const std::byte*>(operand) + offset + i * step;
    return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(words));
  }
};
/// ... or the `bytes` bytes that are left for a last word, which may be part of one.
template <class D>
struct WordAt {
  static constexpr int count = 1;
  D d;
  std::size_t offset;
  std::size_t bytes;

  HWY_INLINE hn::Vec<D> load(const void* operand, int) const {
    hn::TFromD<D> word{};
    const auto* left = static_cast<const std::byte*>(operand) + offset;
    if (bytes >= sizeof(word)) {
      std::memcpy(&word, left, sizeof(word));
    } else {
      auto* part = reinterpret_cast<std::byte*>(&word);
      for (std::size_t i = 0; i < bytes; ++i) part[i] = left[i];
    }
    return hn::Set(d, word);
  }
};

/// Some vectors of results. The constructor is written out, as GCC would make one outside of Highway's
/// instruction set, which NEON's vectors refuse.
template <class Place, class D>
struct Words {
  HWY_INLINE Words() {}
  hn::Vec<D> vector[Place::count];
};

/// The operands combined, times the factor if scaled: the functor that body and tail share. Each
/// operand's vectors are loaded together, so that many loads are under way at once.
template <class Codec, class Operator, bool scaled>
struct Combine {
  Operands operands;
  double factor;

  template <class Part, class D, class Place>
  HWY_INLINE Words<Place, D> part(Part part, D d, const Place& place) const {
    constexpr int n = Place::count;
    using Value = decltype(Codec::unpack(part, d, hn::Zero(d)));
    Value values[n];
    for (int i = 0; i < n; ++i) {
      values[i] = Codec::unpack(part, d, place.load(operands.pointers[0], i));
    }
    for (std::size_t j = 1; j < operands.count; ++j) {
      const void* const operand = operands.pointers[j];
      for (int i = 0; i < n; ++i) {
        values[i] = Operator{}(values[i], Codec::unpack(part, d, place.load(operand, i)));
      }
    }
    Words<Place, D> words;
    for (int i = 0; i < n; ++i) {
      if constexpr (scaled) {
        using Lane = hn::TFromV<Value>;
        const hn::Rebind<Lane, D> lanes;
        values[i] = hn::Mul(values[i], hn::Set(lanes, static_cast<Lane>(factor)));
      }
      words.vector[i] = Codec::pack(part, d, values[i]);
    }
    return words;
  }
};

/// Four parts are long to compute; one copy of that code, out of line, costs less than a percent of
/// its time and saves most of the compile time.
template <class Codec, class Function, class D, class Place>
HWY_NOINLINE Words<Place, D> map_many_parts(const Function& function, D d, const Place& place) {
  static_assert(Place::count == 1);
  Words<Place, D> words;
  words.vector[0] = hn::Zero(d);
  for (int part = 0; part < Codec::parts; ++part) {
    words.vector[0] = hn::Or(words.vector[0], function.part(part, d, place).vector[0]);
  }
  return words;
}

/// Words computed part by part: Function::part(part, d, place) gives each.
template <class Codec, class Function, class D, class Place>
HWY_INLINE Words<Place, D> map_parts(const Function& function, D d, const Place& place) {
  if constexpr (Codec::parts > 2) {
    return map_many_parts<Codec>(function, d, place);
  } else {
    auto words = function.part(std::integral_constant<int, 0>{}, d, place);
    if constexpr (Codec::parts == 2) {
      const auto others = function.part(std::integral_constant<int, 1>{}, d, place);
      for (int i = 0; i < Place::count; ++i) {
        words.vector[i] = hn::Or(words.vector[i], others.vector[i]);
      }
    }
    return words;
  }
}

/// One vector, out of line: the ends of the data are not worth copies of the code.
template <class Codec, class Function, class D>
HWY_NOINLINE hn::Vec<D> map_vector(Function function, D d, std::size_t offset) {
  return map_parts<Codec>(function, d, VectorsAt<1, D>{d, offset}).vector[0];
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> words, Outputs outputs, std::size_t offset) {
  for (std::size_t j = 0; j < outputs.count; ++j) {
    auto* output = static_cast<std::byte*>(outputs.pointers[j]) + offset;
    hn::StoreU(words, d, reinterpret_cast<hn::TFromD<D>*>(output));
  }
}

/// Stores some vectors in a row to every output. A streaming store goes past the caches where the
/// output is aligned, as such a store requires.
template <class Place, class D>
HWY_INLINE void store(D d, const Words<Place, D>& words, Outputs outputs, bool streaming,
                      const Place& place) {
  for (std::size_t j = 0; j < outputs.count; ++j) {
    auto* bytes = static_cast<std::byte*>(outputs.pointers[j]) + place.offset;
    if (streaming && reinterpret_cast<std::uintptr_t>(bytes) % Place::step == 0) {
      for (int i = 0; i < Place::count; ++i) {
        hn::Stream(words.vector[i], d, reinterpret_cast<hn::TFromD<D>*>(bytes + i * Place::step));
      }
    } else {
      for (int i = 0; i < Place::count; ++i) {
        hn::StoreU(words.vector[i], d, reinterpret_cast<hn::TFromD<D>*>(bytes + i * Place::step));
      }
    }
  }
}

/// How many bytes precede the first aligned vector of the first output, where its elements allow
/// one.
template <class Codec>
HWY_INLINE std::size_t bytes_before_aligned(Outputs outputs, std::size_t step) {
  constexpr std::size_t element = sizeof(typename Codec::Word) / Codec::parts;
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(outputs.pointers[0]) % step;
  return head % element == 0 ? head : 0;
}

/// Works on whole vectors, and needs at least one vector of bytes. The last vector ends where the
/// data ends and may overlap the one before it. The first overlaps the next where streaming starts
/// aligned. Both are computed first, from operands that no store has changed yet, so that outputs
/// may be operands.
template <class Codec, int group, class D, class Function>
HWY_INLINE void map_vectors(D d, const Function& function, Outputs outputs, bool streaming,
                            std::size_t bytes) {
  using Group = VectorsAt<group, D>;
  constexpr std::size_t step = Group::step;
  const std::size_t last_offset = bytes - step;
  const std::size_t head = streaming ? bytes_before_aligned<Codec>(outputs, step) : 0;
  const bool has_tail = (bytes - head) % (group * step) != 0;
  auto first = hn::Zero(d);
  auto last = first;
  if (head > 0) first = map_vector<Codec>(function, d, 0);
  if (has_tail) last = map_vector<Codec>(function, d, last_offset);
  std::size_t offset = head;
  for (; offset + group * step <= bytes; offset += group * step) {
    const Group place{d, offset};
    store(d, map_parts<Codec>(function, d, place), outputs, streaming, place);
  }
  for (; offset < last_offset; offset += step) {
    store(d, map_vector<Codec>(function, d, offset), outputs, offset);
  }
  if (head > 0) store(d, first, outputs, 0);
  if (has_tail) store(d, last, outputs, last_offset);
}

/// Works on fewer bytes than a vector, word by word. The last word may be part of one.
template <class Codec, class Function>
HWY_INLINE void map_words(const Function& function, Outputs outputs, std::size_t bytes) {
  using Word = typename Codec::Word;
  const hn::CappedTag<Word, 1> d;
  for (std::size_t offset = 0; offset < bytes; offset += sizeof(Word)) {
    const std::size_t left = bytes - offset;
    const WordAt<decltype(d)> place{d, offset, left};
    const Word word = hn::GetLane(map_parts<Codec>(function, d, place).vector[0]);
    for (std::size_t j = 0; j < outputs.count; ++j) {
      auto* output = static_cast<std::byte*>(outputs.pointers[j]) + offset;
      if (left >= sizeof(Word)) {
        std::memcpy(output, &word, sizeof(Word));
      } else {
        const auto* part = reinterpret_cast<const std::byte*>(&word);
        for (std::size_t i = 0; i < left; ++i) output[i] = part[i];
      }
    }
  }
}

/// Groups are as many vectors as the registers hold while operands are combined. Data shorter than
/// one goes by 16 or 8 bytes: two floats take 54 instructions that way, and 145 word by word.
template <class Codec, class Function>
HWY_INLINE void map(const Function& function, Outputs outputs, bool streaming, std::size_t bytes) {
  using Word = typename Codec::Word;
  const hn::ScalableTag<Word> full;
  const hn::CappedTag<Word, 16 / sizeof(Word)> sixteen_bytes;
  const hn::CappedTag<Word, 8 / sizeof(Word)> eight_bytes;
  if (bytes >= hn::Lanes(full) * sizeof(Word)) {
    map_vectors<Codec, 4 / Codec::parts>(full, function, outputs, streaming, bytes);
  } else if (hn::Lanes(sixteen_bytes) < hn::Lanes(full) && bytes >= 16) {
    map_vectors<Codec, 1>(sixteen_bytes, function, outputs, streaming, bytes);
  } else if (sizeof(Word) < 8 && bytes >= 8) {  // one word of 8 bytes is no vector
    map_vectors<Codec, 1>(eight_bytes, function, outputs, false, bytes);  // a stream writes sixteen
  } else {
    map_words<Codec>(function, outputs, bytes);
  }
}

template <class Codec, class Operator, bool scaled = false>
void reduce_kernel(Outputs outputs, Operands operands, bool streaming, double factor,
                   std::size_t bytes) {
  map<Codec>(Combine<Codec, Operator, scaled>{operands, factor}, outputs, streaming, bytes);
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
    default:
      return nullptr;
  }
}

template <class Codec>
ReduceKernel float_kernel(ReduceOperator op, bool scaled) {
  return scaled ? float_kernel<Codec, true>(op) : float_kernel<Codec, false>(op);
}

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per instruction set
