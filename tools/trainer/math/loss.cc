#include "tools/trainer/math/layers.h"
#include "tools/trainer/math/rows.h"

namespace rondo::train {

template <class Real>
double cross_entropy(In<Real> scores, std::span<const std::int32_t> targets) {
  if (targets.empty()) return 0;
  const std::size_t classes = scores.size() / targets.size();
  double loss = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    loss += cross_entropy_row(scores.data() + row * classes, classes,
                              static_cast<std::size_t>(targets[row]), OneLane{});
  }
  return loss;
}

template <class Real>
void cross_entropy_backward(Out<Real> scores, std::span<const std::int32_t> targets, Real scale) {
  if (targets.empty()) return;
  const std::size_t classes = scores.size() / targets.size();
  for (std::size_t row = 0; row < targets.size(); ++row) {
    cross_entropy_backward_row(scores.data() + row * classes, classes,
                               static_cast<std::size_t>(targets[row]), scale, OneLane{});
  }
}

template double cross_entropy(In<float>, std::span<const std::int32_t>);
template double cross_entropy(In<double>, std::span<const std::int32_t>);
template void cross_entropy_backward(Out<float>, std::span<const std::int32_t>, float);
template void cross_entropy_backward(Out<double>, std::span<const std::int32_t>, double);

}  // namespace rondo::train
