#include <algorithm>
#include <cmath>

#include "tools/trainer/math/exponential.h"
#include "tools/trainer/math/layers.h"

namespace rondo::train {

template <class Real>
double cross_entropy(In<Real> scores, std::span<const std::int32_t> targets) {
  if (targets.empty()) return 0;
  const std::size_t classes = scores.size() / targets.size();
  double loss = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const auto line = scores.subspan(row * classes, classes);
    const Real largest = *std::max_element(line.begin(), line.end());
    double sum = 0;
    for (const Real score : line) sum += static_cast<double>(exponential(score - largest));
    loss += std::log(sum) - static_cast<double>(line[targets[row]] - largest);
  }
  return loss;
}

template <class Real>
void cross_entropy_backward(Out<Real> scores, std::span<const std::int32_t> targets, Real scale) {
  if (targets.empty()) return;
  const std::size_t classes = scores.size() / targets.size();
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const auto line = scores.subspan(row * classes, classes);
    const Real largest = *std::max_element(line.begin(), line.end());
    Real sum = 0;
    for (Real& score : line) {
      score = exponential(score - largest);
      sum += score;
    }
    for (Real& score : line) score *= scale / sum;
    line[targets[row]] -= scale;
  }
}

template double cross_entropy(In<float>, std::span<const std::int32_t>);
template double cross_entropy(In<double>, std::span<const std::int32_t>);
template void cross_entropy_backward(Out<float>, std::span<const std::int32_t>, float);
template void cross_entropy_backward(Out<double>, std::span<const std::int32_t>, double);

}  // namespace rondo::train
