// The formulas of single elements: the same source for processors and devices.
#pragma once

#include <cmath>

#include "tools/trainer/math/exponential.h"
#include "tools/trainer/math/portable.h"

namespace rondo::train {

template <class Real>
inline constexpr Real root_two_over_pi = static_cast<Real>(0.7978845608028654);
template <class Real>
inline constexpr Real gelu_cubic = static_cast<Real>(0.044715);

/// x Phi(x) in its tanh form.
template <class Real>
RONDO_TRAIN_BOTH inline Real gelu_of(Real x) {
  const Real inner = root_two_over_pi<Real> * (x + gelu_cubic<Real> * x * x * x);
  return x / 2 * (1 + hyperbolic_tangent(inner));
}

template <class Real>
RONDO_TRAIN_BOTH inline Real gelu_derivative(Real x) {
  const Real inner = root_two_over_pi<Real> * (x + gelu_cubic<Real> * x * x * x);
  const Real slope = root_two_over_pi<Real> * (1 + 3 * gelu_cubic<Real> * x * x);
  const Real tangent = hyperbolic_tangent(inner);
  return (1 + tangent) / 2 + x / 2 * (1 - tangent * tangent) * slope;
}

}  // namespace rondo::train
