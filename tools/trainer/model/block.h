// A transformer block, pre-norm:
//
//   middle = input + projection(attention(packing(norm1(input))))
//   output = middle + narrowing(gelu(widening(norm2(middle))))
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tools/trainer/math/attention.h"
#include "tools/trainer/math/narrow.h"
#include "tools/trainer/memory/array.h"
#include "tools/trainer/model/unit.h"

namespace rondo::train {

/// A block's parameters, or their gradients, by name. T is const Real or Real.
template <class T>
struct BlockView {
  std::span<T> gain1, bias1, packing_weight, packing_bias, projection_weight, projection_bias;
  std::span<T> gain2, bias2, widening_weight, widening_bias, narrowing_weight, narrowing_bias;

  /// `flat` is the unit's storage.
  BlockView(std::span<T> flat, const Unit& unit);
};

/// The unit of block `index` (from 0) of `layers`.
Unit block_unit(std::size_t index, std::size_t layers, std::size_t width);

/// The results of forward that backward needs, besides the block's input.
template <class Real>
struct BlockKept {
  BlockKept(Ledger& ledger, const AttentionShape& shape);

  Array<Real> mean1, inverse1, normal1, packed, weights, mixed;
  Array<Real> middle, mean2, inverse2, normal2, wide, active;
};

/// Gradients of activations; one set serves all blocks.
template <class Real>
struct BlockScratch {
  /// `sequences`: how many the operations take at once.
  BlockScratch(Ledger& ledger, const AttentionShape& shape, std::size_t sequences);

  Array<Real> narrow, wide, packed, weights;
};

/// The computation; holds no values. Every float32 result is rounded to `precision`; doubles are
/// not rounded.
template <class Real>
class Block {
 public:
  /// `math` outlives it.
  Block(const Math<Real>& math, const AttentionShape& shape, Precision precision)
      : math_(math), shape_(shape), precision_(precision) {}

  void forward(const BlockView<const Real>& parameters, In<Real> input, BlockKept<Real>& kept,
               Out<Real> output) const;
  /// `gradient`: of the output when called, of the input when it returns.
  void backward(const BlockView<const Real>& parameters, const BlockView<Real>& gradients,
                In<Real> input, BlockKept<Real>& kept, BlockScratch<Real>& scratch,
                Out<Real> gradient) const;

 private:
  std::size_t rows() const { return shape_.blocks * shape_.length; }
  void settle(Out<Real> values) const { math_.round_to(values, precision_); }
  void attention_backward_part(const BlockView<const Real>& parameters,
                               const BlockView<Real>& gradients, In<Real> input,
                               BlockKept<Real>& kept, BlockScratch<Real>& scratch,
                               Out<Real> gradient) const;

  const Math<Real>& math_;
  AttentionShape shape_;
  Precision precision_;
};

}  // namespace rondo::train
