// The functor of all device reductions. It combines vectors of elements in registers: k sources in
// one pass, rounded once. The numbers are those of kernels/cpu/reduce.h.
//
// It looks at the operator once for a group of vectors, outside the loop over their elements. All
// threads take the same branch, and memory is the limit. So one instantiation serves all operators
// of a type.
#pragma once

#include "kernels/device/element.h"

namespace rondo::device {

/// How sources are combined. avg is sum here: its division is a factor's, or the divisor's.
struct Recipe {
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;
  double before = 1.0;  ///< floats: multiplies scaled sources, which are then rounded to the type
  double after = 1.0;   ///< floats: the result is multiplied by this before it is rounded
  std::uint64_t divisor = 1;  ///< integers, of small.h: the result is divided by this, truncating
};

/// Elements in a row. `scaled`: this rank's own input under avg. The members have no initializers,
/// since memory that a block shares cannot have them.
struct Source {
  const std::byte* data;
  bool scaled;
};

struct Sources {
  const Source* list = nullptr;
  std::uint32_t count = 0;
};

/// Where results go: one place, or two.
struct Targets {
  std::byte* first = nullptr;
  std::byte* second = nullptr;  ///< null: none
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

/// Some vectors while they are worked on.
template <class E, int lanes, int vectors>
struct Work {
  typename E::Work at[vectors][lanes];

  /// Widens vector v; a scaled source is rounded to its type first, as if it had been stored.
  RONDO_DEVICE void set(int v, const Vector<E, lanes>& from, double factor) {
    RONDO_UNROLL
    for (int i = 0; i < lanes; ++i) {
      at[v][i] = E::widen(from.lane[i]);
      if constexpr (std::is_floating_point_v<typename E::Work>) {
        if (factor != 1.0)
          at[v][i] = E::widen(E::narrow(at[v][i] * static_cast<typename E::Work>(factor)));
      }
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

/// Loads `vectors` vectors of one source, `stride` vectors apart, the first at vector `first`. All
/// loads are under way at once.
template <class E, int lanes, int vectors>
RONDO_DEVICE inline Work<E, lanes, vectors> load_work(const Recipe& recipe, const Source& source,
                                                      std::size_t first, std::size_t stride) {
  using V = Vector<E, lanes>;
  V loaded[vectors];
  RONDO_UNROLL
  for (int v = 0; v < vectors; ++v)
    loaded[v] = load_vector<V>(source.data + (first + v * stride) * sizeof(V));
  const double factor = source.scaled ? recipe.before : 1.0;
  Work<E, lanes, vectors> work;
  RONDO_UNROLL
  for (int v = 0; v < vectors; ++v) work.set(v, loaded[v], factor);
  return work;
}

/// Stores as many vectors of the result.
template <class E, int lanes, int vectors>
RONDO_DEVICE inline void combine_vectors(const Recipe& recipe, const Sources& sources,
                                         const Targets& targets, std::size_t first,
                                         std::size_t stride) {
  using V = Vector<E, lanes>;
  auto work = load_work<E, lanes, vectors>(recipe, sources.list[0], first, stride);
  for (std::uint32_t j = 1; j < sources.count; ++j)
    work.merge(recipe.op, load_work<E, lanes, vectors>(recipe, sources.list[j], first, stride));
  RONDO_UNROLL
  for (int v = 0; v < vectors; ++v) {
    const V result = work.result(v, recipe.after);
    const std::size_t offset = (first + v * stride) * sizeof(V);
    store_vector(targets.first + offset, result);
    if (targets.second != nullptr) store_vector(targets.second + offset, result);
  }
}

RONDO_DEVICE inline bool all_aligned(const Sources& sources, const Targets& targets) {
  for (std::uint32_t j = 0; j < sources.count; ++j) {
    if (!is_aligned(sources.list[j].data, 16)) return false;
  }
  return is_aligned(targets.first, 16) && is_aligned(targets.second, 16);
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

/// A thread's share of `count` elements. A target may be a source; other overlap is not allowed.
/// Pointers are aligned to their elements; all of them to 16 bytes is fastest.
template <class E>
RONDO_DEVICE inline void combine_share(const Recipe& recipe, const Sources& sources,
                                       const Targets& targets, std::size_t count, Share share) {
  share_out<sizeof(typename E::Storage)>(
      count, all_aligned(sources, targets), share,
      [&]<int lanes, int vectors>(std::size_t first, std::size_t stride) {
        combine_vectors<E, lanes, vectors>(recipe, sources, targets, first, stride);
      });
}

/// It is out of line: each type has one copy of the code, with registers of its own.
template <class E>
[[gnu::noinline]] RONDO_DEVICE void combine_as(const Recipe& recipe, const Sources& sources,
                                               const Targets& targets, std::size_t count,
                                               Share share) {
  combine_share<E>(recipe, sources, targets, count, share);
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
