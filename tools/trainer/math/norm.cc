#include <cmath>

#include "tools/trainer/math/layers.h"

namespace rondo::train {
namespace {

constexpr double epsilon = 1e-5;  // as PyTorch's LayerNorm

// With x the normalised input and g the gradient of it: (g - mean(g) - x mean(g x)) / deviation.
template <class Real>
void norm_row(In<Real> output_gradient, In<Real> input, In<Real> gain, Real mean, Real inverse,
              const NormGradients<Real>& gradients, Out<Real> input_sum) {
  const auto width = static_cast<Real>(gain.size());
  Real sum = 0;
  Real product = 0;
  for (std::size_t i = 0; i < gain.size(); ++i) {
    const Real normal = (input[i] - mean) * inverse;
    const Real inner = output_gradient[i] * gain[i];
    sum += inner;
    product += inner * normal;
    gradients.gain[i] += output_gradient[i] * normal;
    gradients.bias[i] += output_gradient[i];
  }
  sum /= width;
  product /= width;
  for (std::size_t i = 0; i < gain.size(); ++i) {
    const Real normal = (input[i] - mean) * inverse;
    input_sum[i] += (output_gradient[i] * gain[i] - sum - normal * product) * inverse;
  }
}

}  // namespace

template <class Real>
void layer_norm(In<Real> input, In<Real> gain, In<Real> bias, Out<Real> output,
                const NormStatistics<Real>& kept) {
  const std::size_t width = gain.size();
  for (std::size_t row = 0; row * width < output.size(); ++row) {
    const auto from = input.subspan(row * width, width);
    Real sum = 0;
    for (const Real value : from) sum += value;
    const Real mean = sum / static_cast<Real>(width);
    Real squares = 0;
    for (const Real value : from) squares += (value - mean) * (value - mean);
    const Real variance = squares / static_cast<Real>(width);
    const Real inverse = 1 / std::sqrt(variance + static_cast<Real>(epsilon));
    const auto into = output.subspan(row * width, width);
    for (std::size_t i = 0; i < width; ++i) {
      into[i] = (from[i] - mean) * inverse * gain[i] + bias[i];
    }
    kept.mean[row] = mean;
    kept.inverse_deviation[row] = inverse;
  }
}

template <class Real>
void layer_norm_backward(In<Real> output_gradient, In<Real> input, In<Real> gain,
                         const NormStatistics<Real>& kept, const NormGradients<Real>& gradients) {
  const std::size_t width = gain.size();
  for (std::size_t row = 0; row * width < input.size(); ++row) {
    norm_row<Real>(output_gradient.subspan(row * width, width), input.subspan(row * width, width),
                   gain, kept.mean[row], kept.inverse_deviation[row], gradients,
                   gradients.input_sum.subspan(row * width, width));
  }
}

template void layer_norm(In<float>, In<float>, In<float>, Out<float>, const NormStatistics<float>&);
template void layer_norm(In<double>, In<double>, In<double>, Out<double>,
                         const NormStatistics<double>&);
template void layer_norm_backward(In<float>, In<float>, In<float>, const NormStatistics<float>&,
                                  const NormGradients<float>&);
template void layer_norm_backward(In<double>, In<double>, In<double>, const NormStatistics<double>&,
                                  const NormGradients<double>&);

}  // namespace rondo::train
