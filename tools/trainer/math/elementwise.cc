#include "tools/trainer/math/elements.h"
#include "tools/trainer/math/layers.h"

namespace rondo::train {

template <class Real>
void gelu(In<Real> input, Out<Real> output) {
  for (std::size_t i = 0; i < output.size(); ++i) output[i] = gelu_of(input[i]);
}

template <class Real>
void gelu_backward(In<Real> output_gradient, In<Real> input, Out<Real> input_gradient) {
  for (std::size_t i = 0; i < input_gradient.size(); ++i)
    input_gradient[i] = output_gradient[i] * gelu_derivative(input[i]);
}

template <class Real>
void add(In<Real> a, In<Real> b, Out<Real> output) {
  for (std::size_t i = 0; i < output.size(); ++i) output[i] = a[i] + b[i];
}

template <class Real>
void embed(std::span<const std::int32_t> tokens, std::size_t columns, In<Real> token_table,
           In<Real> position_table, Out<Real> output) {
  const std::size_t width = output.size() / tokens.size();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto token = token_table.subspan(static_cast<std::size_t>(tokens[i]) * width, width);
    const auto position = position_table.subspan(i % columns * width, width);
    add<Real>(token, position, output.subspan(i * width, width));
  }
}

template <class Real>
void embed_backward(In<Real> output_gradient, std::span<const std::int32_t> tokens,
                    std::size_t columns, Out<Real> token_gradient, Out<Real> position_gradient) {
  const std::size_t width = output_gradient.size() / tokens.size();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto gradient = output_gradient.subspan(i * width, width);
    const auto token = token_gradient.subspan(static_cast<std::size_t>(tokens[i]) * width, width);
    const auto position = position_gradient.subspan(i % columns * width, width);
    add<Real>(token, gradient, token);
    add<Real>(position, gradient, position);
  }
}

template void gelu(In<float>, Out<float>);
template void gelu(In<double>, Out<double>);
template void gelu_backward(In<float>, In<float>, Out<float>);
template void gelu_backward(In<double>, In<double>, Out<double>);
template void add(In<float>, In<float>, Out<float>);
template void add(In<double>, In<double>, Out<double>);
template void embed(std::span<const std::int32_t>, std::size_t, In<float>, In<float>, Out<float>);
template void embed(std::span<const std::int32_t>, std::size_t, In<double>, In<double>,
                    Out<double>);
template void embed_backward(In<float>, std::span<const std::int32_t>, std::size_t, Out<float>,
                             Out<float>);
template void embed_backward(In<double>, std::span<const std::int32_t>, std::size_t, Out<double>,
                             Out<double>);

}  // namespace rondo::train
