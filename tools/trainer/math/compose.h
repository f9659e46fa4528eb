// Layers that are composed of other operations, wherever those run.
#pragma once

#include "tools/trainer/math/math.h"

namespace rondo::train {

/// output (rows x outputs) = input (rows x inputs) * weight^T (outputs x inputs) + bias.
template <class Real>
void linear(const Math<Real>& math, In<Real> input, In<Real> weight, In<Real> bias,
            Out<Real> output);

template <class Real>
struct LinearGradients {
  Out<Real> input;  ///< empty: not wanted
  Out<Real> weight, bias;
};
template <class Real>
void linear_backward(const Math<Real>& math, In<Real> output_gradient, In<Real> input,
                     In<Real> weight, const LinearGradients<Real>& gradients);

}  // namespace rondo::train
