// The two update rules.
#include <cmath>

#include "rondo/error.h"
#include "tools/trainer/optimize/optimizer.h"

namespace rondo::train {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const Layout& layout)
      : Optimizer(layout), options_(options) {}

  std::size_t states() const override { return options_.momentum > 0 ? 1 : 0; }

 private:
  UpdateRule rule(const Step& step, bool decays) const override {
    return SgdRule{.rate = static_cast<float>(step.learning_rate),
                   .scale = static_cast<float>(step.gradient_scale),
                   .decay = decays ? static_cast<float>(options_.weight_decay) : 0.0F,
                   .momentum = static_cast<float>(options_.momentum)};
  }

  OptimizerOptions options_;
};

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, const Layout& layout)
      : Optimizer(layout), options_(options) {}

  std::size_t states() const override { return 2; }

 private:
  UpdateRule rule(const Step& step, bool decays) const override {
    const auto number = static_cast<double>(step.number);
    const double correct1 = 1 - std::pow(options_.beta1, number);
    const double correct2 = 1 - std::pow(options_.beta2, number);
    const double decay = decays ? step.learning_rate * options_.weight_decay : 0.0;
    return AdamwRule{.rate = static_cast<float>(step.learning_rate / correct1),
                     .root = static_cast<float>(1 / std::sqrt(correct2)),
                     .keep = static_cast<float>(1 - decay),
                     .scale = static_cast<float>(step.gradient_scale),
                     .beta1 = static_cast<float>(options_.beta1),
                     .beta2 = static_cast<float>(options_.beta2),
                     .epsilon = static_cast<float>(options_.epsilon)};
  }

  OptimizerOptions options_;
};

/// Takes rules and ranges by value, so that the compiler knows that stores do not change them.
void apply(const SgdRule rule, const Range& run) {
  float* const parameters = run.parameters.data();
  const float* const gradients = run.gradients.data();
  float* const velocity = run.states.empty() ? nullptr : run.states[0].data();
  const std::size_t count = run.parameters.size();
  for (std::size_t i = 0; i < count; ++i)
    update_element(rule, parameters[i], gradients[i], velocity == nullptr ? nullptr : velocity + i);
}

void apply(const AdamwRule rule, const Range& run) {
  float* const parameters = run.parameters.data();
  const float* const gradients = run.gradients.data();
  float* const means = run.states[0].data();
  float* const squares = run.states[1].data();
  const std::size_t count = run.parameters.size();
  for (std::size_t i = 0; i < count; ++i)
    update_element(rule, parameters[i], gradients[i], means[i], squares[i]);
}

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

void Optimizer::update(const Range& range, const Step& step) const {
  update(range, step, [](const UpdateRule& rule, const Range& run) {
    std::visit([&](const auto& each) { apply(each, run); }, rule);
  });
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const Layout& layout) {
  check(options);
  if (options.kind == "sgd") return std::make_unique<Sgd>(options, layout);
  if (options.kind == "adamw") return std::make_unique<AdamW>(options, layout);
  throw Error(ErrorCode::invalid_argument, "there is no optimizer '" + options.kind + "'",
              {.remedy = "sgd or adamw"});
}

}  // namespace rondo::train
