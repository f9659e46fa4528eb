#include <algorithm>

#include "tools/trainer/math/blas.h"
#include "tools/trainer/math/layers.h"

namespace rondo::train {

template <class Real>
void linear(In<Real> input, In<Real> weight, In<Real> bias, Out<Real> output) {
  const std::size_t outputs = bias.size();
  const std::size_t inputs = weight.size() / outputs;
  const std::size_t rows = output.size() / outputs;
  for (std::size_t row = 0; row < rows; ++row) {
    std::copy(bias.begin(), bias.end(),
              output.begin() + static_cast<std::ptrdiff_t>(row * outputs));
  }
  multiply(Product<Real>{.rows = rows,
                         .columns = outputs,
                         .inner = inputs,
                         .a = {input.data(), inputs},
                         .b = {weight.data(), inputs, true},
                         .c = output.data(),
                         .stride = outputs,
                         .keep = 1});
}

template <class Real>
void linear_backward(In<Real> output_gradient, In<Real> input, In<Real> weight,
                     const LinearGradients<Real>& gradients) {
  const std::size_t outputs = gradients.bias.size();
  const std::size_t inputs = weight.size() / outputs;
  const std::size_t rows = output_gradient.size() / outputs;
  if (!gradients.input.empty()) {
    multiply(Product<Real>{.rows = rows,
                           .columns = inputs,
                           .inner = outputs,
                           .a = {output_gradient.data(), outputs},
                           .b = {weight.data(), inputs},
                           .c = gradients.input.data(),
                           .stride = inputs});
  }
  multiply(Product<Real>{.rows = outputs,
                         .columns = inputs,
                         .inner = rows,
                         .a = {output_gradient.data(), outputs, true},
                         .b = {input.data(), inputs},
                         .c = gradients.weight.data(),
                         .stride = inputs,
                         .keep = 1});
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < outputs; ++i) {
      gradients.bias[i] += output_gradient[row * outputs + i];
    }
  }
}

template void linear(In<float>, In<float>, In<float>, Out<float>);
template void linear(In<double>, In<double>, In<double>, Out<double>);
template void linear_backward(In<float>, In<float>, In<float>, const LinearGradients<float>&);
template void linear_backward(In<double>, In<double>, In<double>, const LinearGradients<double>&);

}  // namespace rondo::train
