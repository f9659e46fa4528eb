// A transformer block, pre-norm:
//
//   middle = input + projection(attention(packing(norm1(input))))
//   output = middle + narrowing(gelu(widening(norm2(middle))))
#pragma once

#include <cstddef>
#include <span>

#include "tools/trainer/math/math.h"
#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/model/unit.h"

namespace rondo::train {

/// A block's parameters, or their gradients, by name. T is const float or float.
template <class T>
struct BlockView {
  std::span<T> gain1, bias1, packing_weight, packing_bias, projection_weight, projection_bias;
  std::span<T> gain2, bias2, widening_weight, widening_bias, narrowing_weight, narrowing_bias;

  /// `flat` is the unit's storage.
  BlockView(std::span<T> flat, const Unit& unit) {
    unit.cut(flat, {&gain1, &bias1, &packing_weight, &packing_bias, &projection_weight,
                    &projection_bias, &gain2, &bias2, &widening_weight, &widening_bias,
                    &narrowing_weight, &narrowing_bias});
  }
};

/// The unit of block `index` (from 0) of `layers`.
Unit block_unit(std::size_t index, std::size_t layers, std::size_t width);

/// The results of forward that backward needs, besides the block's input.
struct BlockKept {
  BlockKept(Ledger& ledger, const AttentionShape& shape);

  Array<float> mean1, inverse1, normal1, packed, weights, mixed;
  Array<float> middle, mean2, inverse2, normal2, wide, active;
};

/// Gradients of activations; one set serves all blocks.
struct BlockScratch {
  /// `sequences`: how many the operations take at once.
  BlockScratch(Ledger& ledger, const AttentionShape& shape, std::size_t sequences);

  Array<float> narrow, wide, packed, weights;
};

/// The computation; holds no values. Every result is rounded as `math` does.
class Block {
 public:
  /// `math` outlives it.
  Block(const Math& math, const AttentionShape& shape) : math_(math), shape_(shape) {}

  void forward(const BlockView<const float>& parameters, In input, BlockKept& kept,
               Out output) const;
  /// `gradient`: of the output when called, of the input when it returns.
  void backward(const BlockView<const float>& parameters, const BlockView<float>& gradients,
                In input, BlockKept& kept, BlockScratch& scratch, Out gradient) const;

 private:
  void attention_backward(const BlockView<const float>& parameters,
                          const BlockView<float>& gradients, In input, BlockKept& kept,
                          BlockScratch& scratch, Out gradient) const;

  const Math& math_;
  AttentionShape shape_;
};

}  // namespace rondo::train
