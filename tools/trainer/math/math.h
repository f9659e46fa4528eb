// The operations that models are made of, on arrays in the memory of the CPU or of a GPU. Models
// are written once, on this interface (compose.h, attention.h, model/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tools/trainer/math/blas.h"
#include "tools/trainer/math/layers.h"
#include "tools/trainer/math/narrow.h"

namespace rondo::train {

/// `count` square matrices of `length` rows, `step` elements from one to the next.
struct Squares {
  std::size_t length, count, step;
};

/// Spans lie in its own memory. Only tokens, targets and features lie in the host's memory and may
/// go when the call returns. An operation may still be under way when its call returns; the next
/// operation sees its results. layers.h and blas.h say what the functions do. Errors are
/// rondo::Error.
template <class Real>
class Math {
 public:
  virtual ~Math() = default;

  /// How many of `blocks` sequences attention puts into one call.
  virtual std::size_t sequences_at_once(std::size_t blocks) const = 0;
  virtual void multiply(const Product<Real>& product) const = 0;
  /// Every row of output = row.
  virtual void repeat(In<Real> row, Out<Real> output) const = 0;
  /// sum += every row of input.
  virtual void add_rows(In<Real> input, Out<Real> sum) const = 0;

  virtual void gelu(In<Real> input, Out<Real> output) const = 0;
  virtual void gelu_backward(In<Real> output_gradient, In<Real> input,
                             Out<Real> input_gradient) const = 0;
  virtual void add(In<Real> a, In<Real> b, Out<Real> output) const = 0;
  virtual void layer_norm(In<Real> input, In<Real> gain, In<Real> bias, Out<Real> output,
                          const NormStatistics<Real>& kept) const = 0;
  virtual void layer_norm_backward(In<Real> output_gradient, In<Real> input, In<Real> gain,
                                   const NormStatistics<Real>& kept,
                                   const NormGradients<Real>& gradients) const = 0;
  virtual void embed(std::span<const std::int32_t> tokens, std::size_t columns,
                     In<Real> token_table, In<Real> position_table, Out<Real> output) const = 0;
  virtual void embed_backward(In<Real> output_gradient, std::span<const std::int32_t> tokens,
                              std::size_t columns, Out<Real> token_gradient,
                              Out<Real> position_gradient) const = 0;
  virtual void causal_softmax(Out<Real> scores, const Squares& squares) const = 0;
  /// `gradients` lie as `squares` says. So do the weights, but `weights_step` apart.
  virtual void softmax_backward(In<Real> weights, std::size_t weights_step, Out<Real> gradients,
                                const Squares& squares) const = 0;
  virtual double cross_entropy(In<Real> scores, std::span<const std::int32_t> targets) const = 0;
  virtual void cross_entropy_backward(Out<Real> scores, std::span<const std::int32_t> targets,
                                      Real scale) const = 0;

  virtual void round_to(Out<Real> values, Precision precision) const = 0;
  virtual void zero(Out<Real> values) const = 0;
  /// Copies features into its memory.
  virtual void load(std::span<const float> features, Out<Real> into) const = 0;
};

/// The operations on the CPU. Real is float or double.
template <class Real>
const Math<Real>& host_math();

}  // namespace rondo::train
