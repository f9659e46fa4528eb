// The two update rules, as PyTorch's optimizers write them.
#include <cmath>

#include "rondo/error.h"
#include "tools/trainer/optimize/optimizer.h"

namespace rondo::train {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const Layout& layout)
      : Optimizer(layout),
        momentum_(static_cast<float>(options.momentum)),
        weight_decay_(static_cast<float>(options.weight_decay)) {}

  std::size_t states() const override { return momentum_ > 0 ? 1 : 0; }

 private:
  void update_run(const Range& run, const Step& step, bool decays) const override {
    const auto rate = static_cast<float>(step.learning_rate);
    const auto scale = static_cast<float>(step.gradient_scale);
    const float decay = decays ? weight_decay_ : 0.0F;
    for (std::size_t i = 0; i < run.parameters.size(); ++i) {
      float change = run.gradients[i] * scale + decay * run.parameters[i];
      if (momentum_ > 0) {
        float& velocity = run.states[0][i];
        velocity = momentum_ * velocity + change;
        change = velocity;
      }
      run.parameters[i] -= rate * change;
    }
  }

  float momentum_;
  float weight_decay_;
};

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, const Layout& layout)
      : Optimizer(layout), options_(options) {}

  std::size_t states() const override { return 2; }

 private:
  void update_run(const Range& run, const Step& step, bool decays) const override {
    const auto number = static_cast<double>(step.number);
    const double correct1 = 1 - std::pow(options_.beta1, number);
    const double correct2 = 1 - std::pow(options_.beta2, number);
    const auto rate = static_cast<float>(step.learning_rate / correct1);
    const auto root = static_cast<float>(1 / std::sqrt(correct2));
    const auto keep =
        static_cast<float>(1 - (decays ? step.learning_rate * options_.weight_decay : 0.0));
    const auto scale = static_cast<float>(step.gradient_scale);
    const auto beta1 = static_cast<float>(options_.beta1);
    const auto beta2 = static_cast<float>(options_.beta2);
    const auto epsilon = static_cast<float>(options_.epsilon);
    for (std::size_t i = 0; i < run.parameters.size(); ++i) {
      const float gradient = run.gradients[i] * scale;
      float& mean = run.states[0][i];
      float& square = run.states[1][i];
      mean = beta1 * mean + (1 - beta1) * gradient;
      square = beta2 * square + (1 - beta2) * gradient * gradient;
      run.parameters[i] =
          run.parameters[i] * keep - rate * mean / (std::sqrt(square) * root + epsilon);
    }
  }

  OptimizerOptions options_;
};

void check(const OptimizerOptions& options) {
  const auto fraction = [](double value) { return value >= 0 && value < 1; };
  if (!fraction(options.momentum) || !fraction(options.beta1) || !fraction(options.beta2) ||
      !(options.epsilon > 0) || !(options.weight_decay >= 0)) {
    throw Error(ErrorCode::invalid_argument, "the optimizer's numbers are out of range",
                {.remedy = "momentum and betas from 0 to below 1, epsilon above 0, weight decay "
                           "not below 0"});
  }
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const Layout& layout) {
  check(options);
  if (options.kind == "sgd") return std::make_unique<Sgd>(options, layout);
  if (options.kind == "adamw") return std::make_unique<AdamW>(options, layout);
  throw Error(ErrorCode::invalid_argument, "there is no optimizer '" + options.kind + "'",
              {.remedy = "sgd or adamw"});
}

}  // namespace rondo::train
