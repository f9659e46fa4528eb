// Causal attention of several heads, with its backward pass.
#pragma once

#include <cstddef>

#include "tools/trainer/math/math.h"

namespace rondo::train {

/// `blocks` sequences of `length` positions; `heads` parts of a row of `width`.
struct AttentionShape {
  std::size_t blocks, length, heads, width;
  std::size_t head_width() const { return width / heads; }
  /// Elements of the weights: blocks x heads x length x length.
  std::size_t weights() const { return blocks * heads * length * length; }
};

/// packed: rows of query, key and value, one after the other (3 x width). weights: softmax of the
/// scaled scores, zero above the diagonal, kept for backward. output: rows of `width`.
template <class Real>
void attention(const Math<Real>& math, const AttentionShape& shape, In<Real> packed,
               Out<Real> weights, Out<Real> output);

/// scratch: length x length for each of the sequences that `math` takes at once. packed_gradient is
/// written.
template <class Real>
void attention_backward(const Math<Real>& math, const AttentionShape& shape,
                        In<Real> output_gradient, In<Real> packed, In<Real> weights,
                        Out<Real> scratch, Out<Real> packed_gradient);

}  // namespace rondo::train
