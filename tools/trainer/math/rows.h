// Functions on single rows, with the same source for CPU and GPU. On a CPU one lane goes through a
// row alone; on a GPU lanes share the row.
//
// A Lanes has:
//
//   lane(), lanes()      this lane's number, from 0, and how many there are
//   sum(x), largest(x)   over all lanes; all lanes call it and all get the result
//   all_done()           afterwards each lane sees what the others wrote
//
// Every lane calls the same function with the same arguments.
#pragma once

#include <cmath>
#include <cstddef>

#include "tools/trainer/math/exponential.h"
#include "tools/trainer/math/portable.h"

namespace rondo::train {

/// A single lane, which has a row to itself.
struct OneLane {
  RONDO_TRAIN_BOTH static constexpr std::size_t lane() { return 0; }
  RONDO_TRAIN_BOTH static constexpr std::size_t lanes() { return 1; }
  template <class T>
  RONDO_TRAIN_BOTH static T sum(T own) {
    return own;
  }
  template <class T>
  RONDO_TRAIN_BOTH static T largest(T own) {
    return own;
  }
  RONDO_TRAIN_BOTH static void all_done() {}
};

/// `count` is not 0.
template <class Real, class Lanes>
RONDO_TRAIN_BOTH inline Real largest_of(const Real* row, std::size_t count, const Lanes& lanes) {
  Real largest = row[0];
  for (std::size_t i = lanes.lane(); i < count; i += lanes.lanes()) {
    if (largest < row[i]) largest = row[i];
  }
  return lanes.largest(largest);
}

/// row[i] = exp(row[i] - largest); returns the sum of them.
template <class Real, class Lanes>
RONDO_TRAIN_BOTH inline Real exponentials(Real* row, std::size_t count, Real largest,
                                          const Lanes& lanes) {
  Real sum = 0;
  for (std::size_t i = lanes.lane(); i < count; i += lanes.lanes()) {
    const Real value = exponential(row[i] - largest);
    row[i] = value;
    sum += value;
  }
  return lanes.sum(sum);
}

/// Softmax over the first `past` of `length` scores; later scores are the future and get the weight
/// 0.
template <class Real, class Lanes>
RONDO_TRAIN_BOTH inline void causal_softmax_row(Real* row, std::size_t past, std::size_t length,
                                                const Lanes& lanes) {
  const Real sum = exponentials(row, past, largest_of(row, past, lanes), lanes);
  for (std::size_t i = lanes.lane(); i < past; i += lanes.lanes()) row[i] /= sum;
  for (std::size_t i = past + lanes.lane(); i < length; i += lanes.lanes()) row[i] = 0;
}

/// Turns gradients of the weights into gradients of the scores: w (g - sum(w g)).
template <class Real, class Lanes>
RONDO_TRAIN_BOTH inline void softmax_backward_row(const Real* weight, Real* gradient,
                                                  std::size_t past, std::size_t length,
                                                  const Lanes& lanes) {
  Real sum = 0;
  for (std::size_t i = lanes.lane(); i < past; i += lanes.lanes()) sum += weight[i] * gradient[i];
  sum = lanes.sum(sum);
  for (std::size_t i = lanes.lane(); i < past; i += lanes.lanes())
    gradient[i] = weight[i] * (gradient[i] - sum);
  for (std::size_t i = past + lanes.lane(); i < length; i += lanes.lanes()) gradient[i] = 0;
}

template <class Real>
struct NormRow {
  Real mean, inverse;  ///< 1 / deviation
};

/// into = gain * (from - mean) / deviation + bias.
template <class Real, class Lanes>
RONDO_TRAIN_BOTH inline NormRow<Real> norm_row(const Real* from, const Real* gain, const Real* bias,
                                               Real* into, std::size_t width, const Lanes& lanes) {
  constexpr double epsilon = 1e-5;  // as PyTorch's LayerNorm
  Real sum = 0;
  for (std::size_t i = lanes.lane(); i < width; i += lanes.lanes()) sum += from[i];
  const Real mean = lanes.sum(sum) / static_cast<Real>(width);
  Real squares = 0;
  for (std::size_t i = lanes.lane(); i < width; i += lanes.lanes())
    squares += (from[i] - mean) * (from[i] - mean);
  const Real variance = lanes.sum(squares) / static_cast<Real>(width);
  const Real inverse = 1 / std::sqrt(variance + static_cast<Real>(epsilon));
  for (std::size_t i = lanes.lane(); i < width; i += lanes.lanes())
    into[i] = (from[i] - mean) * inverse * gain[i] + bias[i];
  return {mean, inverse};
}

/// With x the normalised input and g the gradient of it: input_sum += (g - mean(g) - x mean(g x)) /
/// deviation. visit(i, outer, x) sees every element's output gradient and x on the way.
template <class Real, class Lanes, class Visit>
RONDO_TRAIN_BOTH inline void norm_backward_row(const Real* outer, const Real* input,
                                               const Real* gain, const NormRow<Real>& kept,
                                               Real* input_sum, std::size_t width,
                                               const Lanes& lanes, Visit visit) {
  Real sum = 0;
  Real product = 0;
  for (std::size_t i = lanes.lane(); i < width; i += lanes.lanes()) {
    const Real normal = (input[i] - kept.mean) * kept.inverse;
    const Real inner = outer[i] * gain[i];
    sum += inner;
    product += inner * normal;
    visit(i, outer[i], normal);
  }
  sum = lanes.sum(sum) / static_cast<Real>(width);
  product = lanes.sum(product) / static_cast<Real>(width);
  for (std::size_t i = lanes.lane(); i < width; i += lanes.lanes()) {
    const Real normal = (input[i] - kept.mean) * kept.inverse;
    input_sum[i] += (outer[i] * gain[i] - sum - normal * product) * kept.inverse;
  }
}

/// -log softmax(scores)[target], in double.
template <class Real, class Lanes>
RONDO_TRAIN_BOTH inline double cross_entropy_row(const Real* scores, std::size_t classes,
                                                 std::size_t target, const Lanes& lanes) {
  const Real largest = largest_of(scores, classes, lanes);
  double sum = 0;
  for (std::size_t i = lanes.lane(); i < classes; i += lanes.lanes())
    sum += static_cast<double>(exponential(scores[i] - largest));
  return std::log(lanes.sum(sum)) - static_cast<double>(scores[target] - largest);
}

/// In place: scale * (softmax(scores) - one at the target).
template <class Real, class Lanes>
RONDO_TRAIN_BOTH inline void cross_entropy_backward_row(Real* scores, std::size_t classes,
                                                        std::size_t target, Real scale,
                                                        const Lanes& lanes) {
  const Real sum = exponentials(scores, classes, largest_of(scores, classes, lanes), lanes);
  const Real factor = scale / sum;
  for (std::size_t i = lanes.lane(); i < classes; i += lanes.lanes()) scores[i] *= factor;
  lanes.all_done();
  if (lanes.lane() == 0) scores[target] -= scale;
}

}  // namespace rondo::train
