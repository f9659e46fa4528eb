// Causal attention of several heads: matrix products on parts of larger matrices.
#include <algorithm>
#include <cmath>

#include "tools/trainer/math/math.h"

namespace rondo::train {
namespace {

// Where one head of several sequences lies in the larger matrices.
struct Head {
  Head(const AttentionShape& shape, std::size_t block, std::size_t head, std::size_t sequences)
      : length(shape.length),
        width(shape.head_width()),
        row(shape.width),
        count(sequences),
        packed(block * length * 3 * row + head * width),
        weights((block * shape.heads + head) * length * length),
        output(block * length * row + head * width),
        packed_step(length * 3 * row),
        weights_step(shape.heads * length * length),
        output_step(length * row),
        scale(1 / std::sqrt(static_cast<float>(width))) {}

  /// Query, key or value (`part` 0, 1 or 2).
  Matrix part_of(In base, std::size_t part, bool transposed = false) const {
    return {base.data() + packed + part * row, 3 * row, transposed, packed_step};
  }
  /// The weights of all its sequences, from the first element to the last.
  template <class T>
  std::span<T> weights_in(std::span<T> all) const {
    return all.subspan(weights, (count - 1) * weights_step + length * length);
  }

  std::size_t length, width, row;
  std::size_t count;                                   ///< of sequences
  std::size_t packed, weights, output;                 ///< offsets of the first element
  std::size_t packed_step, weights_step, output_step;  ///< from one sequence to the next
  float scale;
};

/// One sequence after the other, so that a head's matrices stay in the cache, or all at once.
template <class Visit>
void each_head(std::size_t sequences, const AttentionShape& shape, Visit visit) {
  for (std::size_t block = 0; block < shape.blocks; block += sequences) {
    const std::size_t count = std::min(sequences, shape.blocks - block);
    for (std::size_t head = 0; head < shape.heads; ++head) visit(Head(shape, block, head, count));
  }
}

}  // namespace

void Math::attention(const AttentionShape& shape, In packed, Out weights, Out output) const {
  const std::size_t n = shape.length;
  each_head(sequences_at_once(shape.blocks), shape, [&](const Head& head) {
    const Out own = head.weights_in(weights);
    multiply({.rows = n,
              .columns = n,
              .inner = head.width,
              .a = head.part_of(packed, 0),
              .b = head.part_of(packed, 1, true),
              .c = own.data(),
              .stride = n,
              .scale = head.scale,
              .count = head.count,
              .step = head.weights_step});
    rows(n * head.count,
         make_call(Kernel::causal_softmax, {buffer_of(own)}, {n, head.count, head.weights_step}));
    multiply({.rows = n,
              .columns = head.width,
              .inner = n,
              .a = {own.data(), n, false, head.weights_step},
              .b = head.part_of(packed, 2),
              .c = output.data() + head.output,
              .stride = head.row,
              .count = head.count,
              .step = head.output_step});
  });
}

void Math::attention_backward(const AttentionShape& shape, In output_gradient, In packed,
                              In weights, Out scratch, Out packed_gradient) const {
  const std::size_t n = shape.length;
  each_head(sequences_at_once(shape.blocks), shape, [&](const Head& head) {
    const In own = head.weights_in(weights);
    const Matrix outer{output_gradient.data() + head.output, head.row, false, head.output_step};
    const auto into_packed = [&](std::size_t part, const Matrix& a, const Matrix& b, float scale) {
      multiply({.rows = n,
                .columns = head.width,
                .inner = n,
                .a = a,
                .b = b,
                .c = packed_gradient.data() + head.packed + part * head.row,
                .stride = 3 * head.row,
                .scale = scale,
                .count = head.count,
                .step = head.packed_step});
    };
    multiply({.rows = n,
              .columns = n,
              .inner = head.width,
              .a = outer,
              .b = head.part_of(packed, 2, true),
              .c = scratch.data(),
              .stride = n,
              .count = head.count,
              .step = n * n});
    into_packed(2, {own.data(), n, true, head.weights_step}, outer, 1);
    rows(n * head.count, Kernel::softmax_backward, {n, head.count, n * n, head.weights_step}, own,
         scratch);
    into_packed(0, {scratch.data(), n, false, n * n}, head.part_of(packed, 1), head.scale);
    into_packed(1, {scratch.data(), n, true, n * n}, head.part_of(packed, 0), head.scale);
  });
}

}  // namespace rondo::train
