// The update of one parameter in a step: its numbers and its formula, as PyTorch's optimizers have
// them. The same source serves CPU and GPU.
#pragma once

#include <cmath>
#include <variant>

#include "tools/trainer/math/portable.h"

namespace rondo::train {

struct SgdRule {
  float rate, scale, decay, momentum;
};
struct AdamwRule {
  float rate, root, keep, scale, beta1, beta2, epsilon;
};
using UpdateRule = std::variant<SgdRule, AdamwRule>;

/// `velocity` is used only if momentum is above 0.
RONDO_TRAIN_BOTH inline void update_element(const SgdRule& rule, float& parameter, float gradient,
                                            float* velocity) {
  float change = gradient * rule.scale + rule.decay * parameter;
  if (rule.momentum > 0) {
    *velocity = rule.momentum * *velocity + change;
    change = *velocity;
  }
  parameter -= rule.rate * change;
}

RONDO_TRAIN_BOTH inline void update_element(const AdamwRule& rule, float& parameter,
                                            float unscaled_gradient, float& mean, float& square) {
  const float gradient = unscaled_gradient * rule.scale;
  mean = rule.beta1 * mean + (1 - rule.beta1) * gradient;
  square = rule.beta2 * square + (1 - rule.beta2) * gradient * gradient;
  parameter =
      parameter * rule.keep - rule.rate * mean / (std::sqrt(square) * rule.root + rule.epsilon);
}

}  // namespace rondo::train
