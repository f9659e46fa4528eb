// Causal attention of several heads: matrix products on parts of larger matrices.
#include <algorithm>
#include <cmath>

#include "tools/trainer/math/math.h"

namespace rondo::train {
namespace {

/// Where one head of several sequences lies in the larger matrices.
struct Head {
  const AttentionShape& shape;
  std::size_t block, head, count;  ///< the first sequence, the head, and how many sequences

  std::size_t length() const { return shape.length; }
  float scale() const { return 1 / std::sqrt(static_cast<float>(shape.head_width())); }
  /// Its columns in rows of all heads, which are `parts` times as wide: query, key and value.
  template <class T>
  Matrix<T> in_rows(std::span<T> all, std::size_t parts = 1, std::size_t part = 0) const {
    const std::size_t stride = parts * shape.width;
    const std::size_t begin =
        block * length() * stride + part * shape.width + head * shape.head_width();
    return {all.data() + begin, length(), shape.head_width(), stride, length() * stride};
  }
  /// Its weights, of all its sequences.
  template <class T>
  Matrix<T> weights(std::span<T> all) const {
    const std::size_t square = length() * length();
    return {all.data() + (block * shape.heads + head) * square, length(), length(), length(),
            shape.heads * square};
  }
};

/// From the first element to the last of `count` matrices.
template <class T>
std::span<T> extent(const Matrix<T>& first, std::size_t count) {
  return {first.values, (count - 1) * first.step + first.rows * first.stride};
}

/// One sequence after the other, so that a head's matrices stay in the cache, or all at once.
template <class Visit>
void each_head(std::size_t sequences, const AttentionShape& shape, Visit visit) {
  for (std::size_t block = 0; block < shape.blocks; block += sequences) {
    const std::size_t count = std::min(sequences, shape.blocks - block);
    for (std::size_t head = 0; head < shape.heads; ++head) visit(Head{shape, block, head, count});
  }
}

}  // namespace

void Math::attention(const AttentionShape& shape, In packed, Out weights, Out output) const {
  each_head(sequences_at_once(shape.blocks), shape, [&](const Head& head) {
    const auto own = head.weights(weights);
    multiply({.a = head.in_rows(packed, 3, 0),
              .b = head.in_rows(packed, 3, 1).flipped(),
              .c = own,
              .scale = head.scale(),
              .count = head.count});
    rows(shape.length * head.count, Kernel::causal_softmax, {shape.length, head.count, own.step},
         extent(own, head.count));
    multiply({.a = head.weights(In(weights)),
              .b = head.in_rows(packed, 3, 2),
              .c = head.in_rows(output),
              .count = head.count});
  });
}

void Math::attention_backward(const AttentionShape& shape, In output_gradient, In packed,
                              In weights, Out scratch, Out packed_gradient) const {
  const std::size_t n = shape.length;
  const Matrix<float> into{scratch.data(), n, n, n, n * n};
  const Matrix<const float> inner{scratch.data(), n, n, n, n * n};
  each_head(sequences_at_once(shape.blocks), shape, [&](const Head& head) {
    const auto own = head.weights(weights);
    const auto outer = head.in_rows(output_gradient);
    const auto gradient = [&](std::size_t part) { return head.in_rows(packed_gradient, 3, part); };
    multiply(
        {.a = outer, .b = head.in_rows(packed, 3, 2).flipped(), .c = into, .count = head.count});
    multiply({.a = own.flipped(), .b = outer, .c = gradient(2), .count = head.count});
    rows(n * head.count, Kernel::softmax_backward, {n, head.count, n * n, own.step},
         extent(own, head.count), scratch);
    multiply({.a = inner,
              .b = head.in_rows(packed, 3, 1),
              .c = gradient(0),
              .scale = head.scale(),
              .count = head.count});
    multiply({.a = inner.flipped(),
              .b = head.in_rows(packed, 3, 0),
              .c = gradient(1),
              .scale = head.scale(),
              .count = head.count});
  });
}

}  // namespace rondo::train
