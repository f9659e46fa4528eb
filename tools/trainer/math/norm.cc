#include "tools/trainer/math/layers.h"
#include "tools/trainer/math/rows.h"

namespace rondo::train {

template <class Real>
void layer_norm(In<Real> input, In<Real> gain, In<Real> bias, Out<Real> output,
                const NormStatistics<Real>& kept) {
  const std::size_t width = gain.size();
  for (std::size_t row = 0; row * width < output.size(); ++row) {
    const auto [mean, inverse] = norm_row(input.data() + row * width, gain.data(), bias.data(),
                                          output.data() + row * width, width, OneLane{});
    kept.mean[row] = mean;
    kept.inverse_deviation[row] = inverse;
  }
}

template <class Real>
void layer_norm_backward(In<Real> output_gradient, In<Real> input, In<Real> gain,
                         const NormStatistics<Real>& kept, const NormGradients<Real>& gradients) {
  const std::size_t width = gain.size();
  for (std::size_t row = 0; row * width < input.size(); ++row) {
    norm_backward_row(output_gradient.data() + row * width, input.data() + row * width, gain.data(),
                      NormRow<Real>{kept.mean[row], kept.inverse_deviation[row]},
                      gradients.input_sum.data() + row * width, width, OneLane{},
                      [&](std::size_t i, Real outer, Real normal) {
                        gradients.gain[i] += outer * normal;
                        gradients.bias[i] += outer;
                      });
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
