#include "tools/trainer/math/compose.h"

namespace rondo::train {

template <class Real>
void linear(const Math<Real>& math, In<Real> input, In<Real> weight, In<Real> bias,
            Out<Real> output) {
  const std::size_t outputs = bias.size();
  const std::size_t inputs = weight.size() / outputs;
  math.repeat(bias, output);
  math.multiply({.rows = output.size() / outputs,
                 .columns = outputs,
                 .inner = inputs,
                 .a = {input.data(), inputs},
                 .b = {weight.data(), inputs, true},
                 .c = output.data(),
                 .stride = outputs,
                 .keep = 1});
}

template <class Real>
void linear_backward(const Math<Real>& math, In<Real> output_gradient, In<Real> input,
                     In<Real> weight, const LinearGradients<Real>& gradients) {
  const std::size_t outputs = gradients.bias.size();
  const std::size_t inputs = weight.size() / outputs;
  const std::size_t rows = output_gradient.size() / outputs;
  if (!gradients.input.empty()) {
    math.multiply({.rows = rows,
                   .columns = inputs,
                   .inner = outputs,
                   .a = {output_gradient.data(), outputs},
                   .b = {weight.data(), inputs},
                   .c = gradients.input.data(),
                   .stride = inputs});
  }
  math.multiply({.rows = outputs,
                 .columns = inputs,
                 .inner = rows,
                 .a = {output_gradient.data(), outputs, true},
                 .b = {input.data(), inputs},
                 .c = gradients.weight.data(),
                 .stride = inputs,
                 .keep = 1});
  math.add_rows(output_gradient, gradients.bias);
}

template void linear(const Math<float>&, In<float>, In<float>, In<float>, Out<float>);
template void linear(const Math<double>&, In<double>, In<double>, In<double>, Out<double>);
template void linear_backward(const Math<float>&, In<float>, In<float>, In<float>,
                              const LinearGradients<float>&);
template void linear_backward(const Math<double>&, In<double>, In<double>, In<double>,
                              const LinearGradients<double>&);

}  // namespace rondo::train
