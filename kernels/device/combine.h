// The functor of all device reductions. It combines vectors of elements in registers: k sources in
// one pass, rounded once. The numbers are those of kernels/cpu/reduce.h.
//
// It looks at the operator once for a group of vectors, outside the loop over their elements. All
// threads take the same branch, and memory is the limit. So one instantiation serves all operators
// of a type.
#pragma once

#include "kernels/device/element.h"

namespace rondo::device {

/// A number of the type.
struct Scalar {
  std::uint64_t bits = 0;         ///< as the type stores it
  const std::byte* at = nullptr;  ///< not null: it lies there instead, and is read when it is used
  bool used = false;
};

/// How sources are combined. avg is sum here: its division is a factor's, or the divisor's.
struct Recipe {
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;
  double before = 1.0;  ///< floats: multiplies scaled sources, which are then rounded to the type
  double after = 1.0;   ///< floats: the result is multiplied by this before it is rounded
  std::uint64_t divisor = 1;  ///< integers: the result is divided by this, truncating
  Scalar scalar{};            ///< used: multiplies scaled sources instead of `before`

  RONDO_DEVICE bool scales() const { return scalar.used || before != 1.0; }
};

/// Elements in a row. `scaled`: this rank's own input. The members have no initializers,
/// since memory that a block shares cannot have them.
struct Source {
  const std::byte* data;
  bool scaled;
};

struct Sources {
  const Source* list = nullptr;
  std::uint32_t count = 0;
};

/// Where results go: the same to each place.
struct Targets {
  std::byte* const* list = nullptr;
  std::uint32_t count = 0;
};

/// A thread's part of work that `threads` share.
struct Share {
  std::size_t thread = 0;
  std::size_t threads = 1;
};

/// Memory of `lanes` elements, loaded and stored as a whole.
template <class E, int lanes>
struct alignas(lanes * sizeof(typename E::Storage)) Vector {
  typename E::Storage lane[lanes];
};

/// Integers wrap: they are added and multiplied without a sign, in at least 32 bits.
template <class W>
using Wrapping = std::conditional_t<(sizeof(W) > 4), std::uint64_t, std::uint32_t>;

template <class W>
RONDO_DEVICE inline W add(W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    return static_cast<W>(static_cast<Wrapping<W>>(a) + static_cast<Wrapping<W>>(b));
  } else {
    return a + b;
  }
}
template <class W>
RONDO_DEVICE inline W multiply(W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    return static_cast<W>(static_cast<Wrapping<W>>(a) * static_cast<Wrapping<W>>(b));
  } else {
    return a * b;
  }
}
// A NaN on the left is kept; one on the right is not less than anything, so it is taken.
template <class W>
RONDO_DEVICE inline W smaller(W a, W b) {
  return a < b || a != a ? a : b;
}
template <class W>
RONDO_DEVICE inline W larger(W a, W b) {
  return b < a || a != a ? a : b;
}

/// What multiplies a source, if anything does.
template <class E>
struct Factor {
  using W = typename E::Work;
  bool used = false;
  W value = 1;

  RONDO_DEVICE static Factor of(const Recipe& recipe) {
    if (recipe.scalar.used) {
      const Scalar& scalar = recipe.scalar;
      const auto* const at =
          scalar.at != nullptr ? scalar.at : reinterpret_cast<const std::byte*>(&scalar.bits);
      return {true, E::widen(load_vector<typename E::Storage>(at))};
    }
    return {recipe.before != 1.0, static_cast<W>(recipe.before)};
  }
};

/// Some vectors while they are worked on.
template <class E, int lanes, int vectors>
struct Work {
  typename E::Work at[vectors][lanes];

  /// Widens vector v; a scaled source is rounded to its type first, as if it had been stored.
  RONDO_DEVICE void set(int v, const Vector<E, lanes>& from, const Factor<E>& factor) {
    RONDO_UNROLL
    for (int i = 0; i < lanes; ++i) {
      at[v][i] = E::widen(from.lane[i]);
      if (factor.used) at[v][i] = E::widen(E::narrow(multiply(at[v][i], factor.value)));
    }
  }
  template <class Function>
  RONDO_DEVICE void each(const Work& next, const Function& function) {
    RONDO_UNROLL
    for (int v = 0; v < vectors; ++v) {
      RONDO_UNROLL
      for (int i = 0; i < lanes; ++i) at[v][i] = function(at[v][i], next.at[v][i]);
    }
  }
  RONDO_DEVICE void merge(ReduceOperator op, const Work& next) {
    using W = typename E::Work;
    switch (op) {
      case ReduceOperator::sum:
      case ReduceOperator::avg:
        return each(next, [](W a, W b) { return add(a, b); });
      case ReduceOperator::prod:
        return each(next, [](W a, W b) { return multiply(a, b); });
      case ReduceOperator::min:
        return each(next, [](W a, W b) { return smaller(a, b); });
      case ReduceOperator::max:
        return each(next, [](W a, W b) { return larger(a, b); });
      case ReduceOperator::bit_and:
      case ReduceOperator::bit_or:
      case ReduceOperator::bit_xor:
        return merge_bits(op, next);
    }
  }
  /// Combines integers bit by bit. No call with floats comes here, see applies_to().
  RONDO_DEVICE void merge_bits(ReduceOperator op, const Work& next) {
    using W = typename E::Work;
    if constexpr (std::is_integral_v<W>) {
      if (op == ReduceOperator::bit_and)
        return each(next, [](W a, W b) { return static_cast<W>(a & b); });
      if (op == ReduceOperator::bit_or)
        return each(next, [](W a, W b) { return static_cast<W>(a | b); });
      each(next, [](W a, W b) { return static_cast<W>(a ^ b); });
    }
  }
  /// Divides integers by `divisor`, truncating towards zero, once they are wrapped to their type.
  RONDO_DEVICE void divide(std::uint64_t divisor) {
    using W = typename E::Work;
    if constexpr (std::is_integral_v<W>) {
      if (divisor == 1) return;
      using Wide = std::conditional_t<std::is_signed_v<W>, std::int64_t, std::uint64_t>;
      RONDO_UNROLL
      for (int v = 0; v < vectors; ++v) {
        RONDO_UNROLL
        for (int i = 0; i < lanes; ++i) {
          const Wide value = E::widen(E::narrow(at[v][i]));
          at[v][i] = static_cast<W>(value / static_cast<Wide>(divisor));
        }
      }
    }
  }
  RONDO_DEVICE Vector<E, lanes> result(int v, double factor) const {
    Vector<E, lanes> to;
    RONDO_UNROLL
    for (int i = 0; i < lanes; ++i) {
      auto value = at[v][i];
      if constexpr (std::is_floating_point_v<typename E::Work>) {
        if (factor != 1.0) value *= static_cast<typename E::Work>(factor);
      }
      to.lane[i] = E::narrow(value);
    }
    return to;
  }
};

/// `vectors` vectors of one source, `stride` vectors apart, the first at vector `first`, as they lie in
/// memory. All loads are under way at once.
template <class E, int lanes, int vectors>
struct Loaded {
  using V = Vector<E, lanes>;
  V at[vectors];

  RONDO_DEVICE static Loaded from(const std::byte* source, std::size_t first, std::size_t stride) {
    Loaded loaded;
    RONDO_UNROLL
    for (int v = 0; v < vectors; ++v)
      loaded.at[v] = load_vector<V>(source + (first + v * stride) * sizeof(V));
    return loaded;
  }
  RONDO_DEVICE Work<E, lanes, vectors> widened(const Factor<E>& factor) const {
    Work<E, lanes, vectors> work;
    RONDO_UNROLL
    for (int v = 0; v < vectors; ++v) work.set(v, at[v], factor);
    return work;
  }
};

/// Combines `count` sources in order. source(j): its data. factor(j): its factor.
template <class E, int lanes, int vectors, class Source, class Factors>
RONDO_DEVICE inline Work<E, lanes, vectors> combine_sources(ReduceOperator op, std::uint32_t count,
                                                            const Source& source,
                                                            const Factors& factor,
                                                            std::size_t first, std::size_t stride) {
  using L = Loaded<E, lanes, vectors>;
  auto work = L::from(source(0), first, stride).widened(factor(0));
  for (std::uint32_t j = 1; j < count; ++j)
    work.merge(op, L::from(source(j), first, stride).widened(factor(j)));
  return work;
}

/// Stores as many vectors of the result.
template <class E, int lanes, int vectors>
RONDO_DEVICE inline void combine_vectors(const Recipe& recipe, const Sources& sources,
                                         const Targets& targets, std::size_t first,
                                         std::size_t stride) {
  using V = Vector<E, lanes>;
  const auto factor = Factor<E>::of(recipe);
  auto work = combine_sources<E, lanes, vectors>(
      recipe.op, sources.count, [&](std::uint32_t j) { return sources.list[j].data; },
      [&](std::uint32_t j) { return sources.list[j].scaled ? factor : Factor<E>{}; }, first,
      stride);
  V results[vectors];
  RONDO_UNROLL
  for (int v = 0; v < vectors; ++v) results[v] = work.result(v, recipe.after);
  for (std::uint32_t k = 0; k < targets.count; ++k) {
    std::byte* const target = targets.list[k];
    RONDO_UNROLL
    for (int v = 0; v < vectors; ++v)
      store_vector(target + (first + v * stride) * sizeof(V), results[v]);
  }
}

RONDO_DEVICE inline bool all_aligned(const Sources& sources, const Targets& targets,
                                     std::size_t bytes) {
  for (std::uint32_t j = 0; j < sources.count; ++j) {
    if (!is_aligned(sources.list[j].data, bytes)) return false;
  }
  for (std::uint32_t k = 0; k < targets.count; ++k) {
    if (!is_aligned(targets.list[k], bytes)) return false;
  }
  return true;
}

/// A thread's share of `count` elements of `element` bytes, in order: groups of 16-byte vectors and
/// single vectors where all pointers are `aligned` to them, then groups of single elements and
/// single ones. A group's loads are under way at once, as many as registers hold beside each other.
/// Calls combine.operator()<lanes, vectors>(first, stride): `vectors` vectors of `lanes` elements,
/// `stride` vectors apart, the first at vector `first`.
template <std::size_t element, class Combine>
RONDO_DEVICE inline void share_out(std::size_t count, bool aligned, Share share,
                                   const Combine& combine) {
  constexpr int lanes = 16 / element;
  constexpr int group = lanes > 8 ? 2 : 4;
  constexpr int singles = 8;
  const std::size_t vectors = aligned ? count / lanes : 0;
  std::size_t vector = share.thread;
  for (; vector + (group - 1) * share.threads < vectors; vector += group * share.threads)
    combine.template operator()<lanes, group>(vector, share.threads);
  for (; vector < vectors; vector += share.threads)
    combine.template operator()<lanes, 1>(vector, 0);
  std::size_t i = vectors * lanes + share.thread;
  for (; i + (singles - 1) * share.threads < count; i += singles * share.threads)
    combine.template operator()<1, singles>(i, share.threads);
  for (; i < count; i += share.threads) combine.template operator()<1, 1>(i, 0);
}

/// One element at a time, in any memory, divided as the recipe says. It is rare, and so out of the way
/// of the registers of what is not.
template <class E>
[[gnu::noinline]] RONDO_DEVICE void combine_slowly(const Recipe& recipe, const Sources& sources,
                                                   const Targets& targets, std::size_t count,
                                                   Share share) {
  using T = typename E::Storage;
  const auto factor = Factor<E>::of(recipe);
  const auto load = [&](const Source& source, std::size_t i) {
    Work<E, 1, 1> loaded;
    loaded.set(0, {{load_element<T>(source.data + i * sizeof(T))}},
               source.scaled ? factor : Factor<E>{});
    return loaded;
  };
  for (std::size_t i = share.thread; i < count; i += share.threads) {
    Work<E, 1, 1> work = load(sources.list[0], i);
    for (std::uint32_t j = 1; j < sources.count; ++j)
      work.merge(recipe.op, load(sources.list[j], i));
    work.divide(recipe.divisor);
    const T result = work.result(0, recipe.after).lane[0];
    for (std::uint32_t k = 0; k < targets.count; ++k)
      store_element(targets.list[k] + i * sizeof(T), result);
  }
}

/// A thread's share of `count` elements. A target may be a source; other overlap is not allowed.
/// All pointers aligned to 16 bytes are fastest. It is out of line: each type has one copy of the
/// code, with registers of its own.
template <class E>
[[gnu::noinline]] RONDO_DEVICE void combine_as(const Recipe& recipe, const Sources& sources,
                                               const Targets& targets, std::size_t count,
                                               Share share) {
  constexpr std::size_t element = sizeof(typename E::Storage);
  if (recipe.divisor != 1 || !all_aligned(sources, targets, element))
    return combine_slowly<E>(recipe, sources, targets, count, share);
  share_out<element>(count, all_aligned(sources, targets, 16), share,
                     [&]<int lanes, int vectors>(std::size_t first, std::size_t stride) {
                       combine_vectors<E, lanes, vectors>(recipe, sources, targets, first, stride);
                     });
}

RONDO_DEVICE inline void combine_any(const Recipe& recipe, const Sources& sources,
                                     const Targets& targets, std::size_t count, Share share) {
  visit_type(recipe.type, [&](auto tag) {
    combine_as<Element<decltype(tag)::value>>(recipe, sources, targets, count, share);
  });
}

/// One source that is not scaled is copied bit by bit: as integers, which nothing rounds.
constexpr DataType copying_type(std::size_t element_bytes) {
  return element_bytes == 8   ? DataType::uint64
         : element_bytes == 4 ? DataType::uint32
         : element_bytes == 2 ? DataType::uint16
                              : DataType::uint8;
}

}  // namespace rondo::device
