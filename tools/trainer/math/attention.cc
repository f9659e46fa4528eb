#include "tools/trainer/math/attention.h"

#include <algorithm>
#include <cmath>

namespace rondo::train {
namespace {

// Where one head of several sequences lies in the larger matrices.
template <class Real>
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
        scale(1 / std::sqrt(static_cast<Real>(width))) {}

  Matrix<Real> query(const Real* base, bool transposed = false) const {
    return {base + packed, 3 * row, transposed, packed_step};
  }
  Matrix<Real> key(const Real* base, bool transposed = false) const {
    return {base + packed + row, 3 * row, transposed, packed_step};
  }
  Matrix<Real> value(const Real* base, bool transposed = false) const {
    return {base + packed + 2 * row, 3 * row, transposed, packed_step};
  }
  Squares squares(std::size_t step) const { return {length, count, step}; }
  /// Elements from the first to the last matrix.
  std::size_t extent(std::size_t step) const { return (count - 1) * step + length * length; }

  std::size_t length, width, row;
  std::size_t count;                                   ///< of sequences
  std::size_t packed, weights, output;                 ///< offsets of the first element
  std::size_t packed_step, weights_step, output_step;  ///< from one sequence to the next
  Real scale;
};

template <class Real>
void head_forward(const Math<Real>& math, const Head<Real>& head, const Real* packed,
                  Out<Real> weights, Real* output) {
  const std::size_t n = head.length;
  math.multiply({.rows = n,
                 .columns = n,
                 .inner = head.width,
                 .a = head.query(packed),
                 .b = head.key(packed, true),
                 .c = weights.data(),
                 .stride = n,
                 .scale = head.scale,
                 .count = head.count,
                 .step = head.weights_step});
  math.causal_softmax(weights, head.squares(head.weights_step));
  math.multiply({.rows = n,
                 .columns = head.width,
                 .inner = n,
                 .a = {weights.data(), n, false, head.weights_step},
                 .b = head.value(packed),
                 .c = output + head.output,
                 .stride = head.row,
                 .count = head.count,
                 .step = head.output_step});
}

template <class Real>
void head_backward(const Math<Real>& math, const Head<Real>& head, const Real* output_gradient,
                   const Real* packed, In<Real> weights, Out<Real> scratch, Real* packed_gradient) {
  const std::size_t n = head.length;
  const std::size_t w = head.width;
  const Matrix<Real> outer{output_gradient + head.output, head.row, false, head.output_step};
  Real* const query = packed_gradient + head.packed;
  Real* const key = query + head.row;
  Real* const value = key + head.row;
  const auto into_packed = [&](Real* to, const Matrix<Real>& a, const Matrix<Real>& b, Real scale) {
    math.multiply({.rows = n,
                   .columns = w,
                   .inner = n,
                   .a = a,
                   .b = b,
                   .c = to,
                   .stride = 3 * head.row,
                   .scale = scale,
                   .count = head.count,
                   .step = head.packed_step});
  };
  math.multiply({.rows = n,
                 .columns = n,
                 .inner = w,
                 .a = outer,
                 .b = head.value(packed, true),
                 .c = scratch.data(),
                 .stride = n,
                 .count = head.count,
                 .step = n * n});
  into_packed(value, {weights.data(), n, true, head.weights_step}, outer, 1);
  math.softmax_backward(weights, head.weights_step, scratch, head.squares(n * n));
  into_packed(query, {scratch.data(), n, false, n * n}, head.key(packed), head.scale);
  into_packed(key, {scratch.data(), n, true, n * n}, head.query(packed), head.scale);
}

/// One sequence after the other or all at once, as `math` prefers.
template <class Real, class Visit>
void each_head(const Math<Real>& math, const AttentionShape& shape, Visit visit) {
  const std::size_t sequences = math.sequences_at_once(shape.blocks);
  for (std::size_t block = 0; block < shape.blocks; block += sequences) {
    const std::size_t count = std::min(sequences, shape.blocks - block);
    for (std::size_t head = 0; head < shape.heads; ++head)
      visit(Head<Real>(shape, block, head, count));
  }
}

}  // namespace

template <class Real>
void attention(const Math<Real>& math, const AttentionShape& shape, In<Real> packed,
               Out<Real> weights, Out<Real> output) {
  each_head(math, shape, [&](const Head<Real>& head) {
    head_forward<Real>(math, head, packed.data(),
                       weights.subspan(head.weights, head.extent(head.weights_step)),
                       output.data());
  });
}

template <class Real>
void attention_backward(const Math<Real>& math, const AttentionShape& shape,
                        In<Real> output_gradient, In<Real> packed, In<Real> weights,
                        Out<Real> scratch, Out<Real> packed_gradient) {
  each_head(math, shape, [&](const Head<Real>& head) {
    head_backward<Real>(math, head, output_gradient.data(), packed.data(),
                        weights.subspan(head.weights, head.extent(head.weights_step)),
                        scratch.first(head.count * head.length * head.length),
                        packed_gradient.data());
  });
}

template void attention(const Math<float>&, const AttentionShape&, In<float>, Out<float>,
                        Out<float>);
template void attention(const Math<double>&, const AttentionShape&, In<double>, Out<double>,
                        Out<double>);
template void attention_backward(const Math<float>&, const AttentionShape&, In<float>, In<float>,
                                 In<float>, Out<float>, Out<float>);
template void attention_backward(const Math<double>&, const AttentionShape&, In<double>, In<double>,
                                 In<double>, Out<double>, Out<double>);

}  // namespace rondo::train
