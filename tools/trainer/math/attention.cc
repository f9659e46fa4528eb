#include "tools/trainer/math/attention.h"

#include <algorithm>
#include <cmath>

#include "tools/trainer/math/blas.h"
#include "tools/trainer/math/exponential.h"

namespace rondo::train {
namespace {

// Where one head of one sequence lies in the larger matrices.
template <class Real>
struct Head {
  Head(const AttentionShape& shape, std::size_t index)
      : length(shape.length),
        width(shape.head_width()),
        row(shape.width),
        packed(index / shape.heads * length * 3 * row + index % shape.heads * width),
        weights(index * length * length),
        output(index / shape.heads * length * row + index % shape.heads * width),
        scale(1 / std::sqrt(static_cast<Real>(width))) {}

  Matrix<Real> query(const Real* base, bool transposed = false) const {
    return {base + packed, 3 * row, transposed};
  }
  Matrix<Real> key(const Real* base, bool transposed = false) const {
    return {base + packed + row, 3 * row, transposed};
  }
  Matrix<Real> value(const Real* base, bool transposed = false) const {
    return {base + packed + 2 * row, 3 * row, transposed};
  }

  std::size_t length, width, row;
  std::size_t packed, weights, output;  ///< offsets of the first element
  Real scale;
};

// Each row up to its own position; what lies behind is the future and weighs nothing.
template <class Real>
void causal_softmax(Out<Real> scores, std::size_t length) {
  for (std::size_t t = 0; t < length; ++t) {
    const auto row = scores.subspan(t * length, length);
    const auto past = row.first(t + 1);
    const Real largest = *std::max_element(past.begin(), past.end());
    Real sum = 0;
    for (Real& score : past) {
      score = exponential(score - largest);
      sum += score;
    }
    for (Real& score : past) score /= sum;
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(t + 1), row.end(), Real{0});
  }
}

// From gradients of the weights to gradients of the scores: w (g - sum(w g)).
template <class Real>
void softmax_backward(In<Real> weights, Out<Real> gradients, std::size_t length) {
  for (std::size_t t = 0; t < length; ++t) {
    const auto weight = weights.subspan(t * length, length);
    const auto gradient = gradients.subspan(t * length, length);
    Real sum = 0;
    for (std::size_t i = 0; i <= t; ++i) sum += weight[i] * gradient[i];
    for (std::size_t i = 0; i <= t; ++i) gradient[i] = weight[i] * (gradient[i] - sum);
    std::fill(gradient.begin() + static_cast<std::ptrdiff_t>(t + 1), gradient.end(), Real{0});
  }
}

template <class Real>
void head_backward(const Head<Real>& head, const Real* output_gradient, const Real* packed,
                   In<Real> weights, Out<Real> scratch, Real* packed_gradient) {
  const std::size_t n = head.length;
  const std::size_t w = head.width;
  const Matrix<Real> outer{output_gradient + head.output, head.row};
  Real* const query = packed_gradient + head.packed;
  Real* const key = query + head.row;
  Real* const value = key + head.row;
  multiply(Product<Real>{.rows = n,
                         .columns = n,
                         .inner = w,
                         .a = outer,
                         .b = head.value(packed, true),
                         .c = scratch.data(),
                         .stride = n});
  multiply(Product<Real>{.rows = n,
                         .columns = w,
                         .inner = n,
                         .a = {weights.data(), n, true},
                         .b = outer,
                         .c = value,
                         .stride = 3 * head.row});
  softmax_backward<Real>(weights, scratch, n);
  multiply(Product<Real>{.rows = n,
                         .columns = w,
                         .inner = n,
                         .a = {scratch.data(), n},
                         .b = head.key(packed),
                         .c = query,
                         .stride = 3 * head.row,
                         .scale = head.scale});
  multiply(Product<Real>{.rows = n,
                         .columns = w,
                         .inner = n,
                         .a = {scratch.data(), n, true},
                         .b = head.query(packed),
                         .c = key,
                         .stride = 3 * head.row,
                         .scale = head.scale});
}

}  // namespace

template <class Real>
void attention(const AttentionShape& shape, In<Real> packed, Out<Real> weights, Out<Real> output) {
  for (std::size_t index = 0; index < shape.blocks * shape.heads; ++index) {
    const Head<Real> head(shape, index);
    const std::size_t n = head.length;
    const auto own = weights.subspan(head.weights, n * n);
    multiply(Product<Real>{.rows = n,
                           .columns = n,
                           .inner = head.width,
                           .a = head.query(packed.data()),
                           .b = head.key(packed.data(), true),
                           .c = own.data(),
                           .stride = n,
                           .scale = head.scale});
    causal_softmax<Real>(own, n);
    multiply(Product<Real>{.rows = n,
                           .columns = head.width,
                           .inner = n,
                           .a = {own.data(), n},
                           .b = head.value(packed.data()),
                           .c = output.data() + head.output,
                           .stride = head.row});
  }
}

template <class Real>
void attention_backward(const AttentionShape& shape, In<Real> output_gradient, In<Real> packed,
                        In<Real> weights, Out<Real> scratch, Out<Real> packed_gradient) {
  for (std::size_t index = 0; index < shape.blocks * shape.heads; ++index) {
    const Head<Real> head(shape, index);
    head_backward<Real>(head, output_gradient.data(), packed.data(),
                        weights.subspan(head.weights, head.length * head.length), scratch,
                        packed_gradient.data());
  }
}

template void attention(const AttentionShape&, In<float>, Out<float>, Out<float>);
template void attention(const AttentionShape&, In<double>, Out<double>, Out<double>);
template void attention_backward(const AttentionShape&, In<float>, In<float>, In<float>, Out<float>,
                                 Out<float>);
template void attention_backward(const AttentionShape&, In<double>, In<double>, In<double>,
                                 Out<double>, Out<double>);

}  // namespace rondo::train
