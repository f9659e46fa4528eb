#include "tools/trainer/math/layers.h"
#include "tools/trainer/math/rows.h"

namespace rondo::train {

template <class Real>
void causal_softmax(Out<Real> scores, std::size_t length) {
  for (std::size_t t = 0; t < length; ++t)
    causal_softmax_row(scores.data() + t * length, t + 1, length, OneLane{});
}

template <class Real>
void softmax_backward(In<Real> weights, Out<Real> gradients, std::size_t length) {
  for (std::size_t t = 0; t < length; ++t) {
    softmax_backward_row(weights.data() + t * length, gradients.data() + t * length, t + 1, length,
                         OneLane{});
  }
}

template void causal_softmax(Out<float>, std::size_t);
template void causal_softmax(Out<double>, std::size_t);
template void softmax_backward(In<float>, Out<float>, std::size_t);
template void softmax_backward(In<double>, Out<double>, std::size_t);

}  // namespace rondo::train
