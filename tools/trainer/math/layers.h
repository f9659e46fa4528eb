// Operations of an MLP and a transformer on the CPU, each with its backward pass written by hand.
// math.h has the interface for CPU and GPU, compose.h the layers made of them.
//
// Real is float or double. Matrices are row-major: `rows` of as many columns as the name says.
// Backward functions *add* to gradients of parameters. They write gradients of activations, or add
// to them if the argument's name says `sum`. They need the same spans of activations as the forward
// function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rondo::train {

template <class Real>
using In = std::span<const Real>;
template <class Real>
using Out = std::span<Real>;

/// The numbers that layer_norm keeps for backward, one for each row.
template <class Real>
struct NormStatistics {
  Out<Real> mean, inverse_deviation;
};
/// output = gain * (input - mean) / deviation + bias, row by row of `gain.size()` columns.
template <class Real>
void layer_norm(In<Real> input, In<Real> gain, In<Real> bias, Out<Real> output,
                const NormStatistics<Real>& kept);

template <class Real>
struct NormGradients {
  Out<Real> input_sum, gain, bias;
};
template <class Real>
void layer_norm_backward(In<Real> output_gradient, In<Real> input, In<Real> gain,
                         const NormStatistics<Real>& kept, const NormGradients<Real>& gradients);

/// x Phi(x) in its tanh form.
template <class Real>
void gelu(In<Real> input, Out<Real> output);
/// `input_gradient` may be `output_gradient`.
template <class Real>
void gelu_backward(In<Real> output_gradient, In<Real> input, Out<Real> input_gradient);

/// output = a + b. It may be a or b itself.
template <class Real>
void add(In<Real> a, In<Real> b, Out<Real> output);

/// output row i = token_table[tokens[i]] + position_table[i mod columns].
template <class Real>
void embed(std::span<const std::int32_t> tokens, std::size_t columns, In<Real> token_table,
           In<Real> position_table, Out<Real> output);
template <class Real>
void embed_backward(In<Real> output_gradient, std::span<const std::int32_t> tokens,
                    std::size_t columns, Out<Real> token_gradient, Out<Real> position_gradient);

/// In place, on a matrix of `length` rows. Each row counts up to its own position; later positions
/// are the future and get the weight 0.
template <class Real>
void causal_softmax(Out<Real> scores, std::size_t length);
/// Turns gradients of the weights into gradients of the scores, in place.
template <class Real>
void softmax_backward(In<Real> weights, Out<Real> gradients, std::size_t length);

/// Sum over rows of -log softmax(scores)[target]; `targets.size()` rows. The sum is a double for
/// every Real.
template <class Real>
double cross_entropy(In<Real> scores, std::span<const std::int32_t> targets);
/// In place: scores become scale * (softmax(scores) - one at the target).
template <class Real>
void cross_entropy_backward(Out<Real> scores, std::span<const std::int32_t> targets, Real scale);

}  // namespace rondo::train
