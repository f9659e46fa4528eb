#include "tools/trainer/optimize/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tools/trainer/machine/machine.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

void check_optimizer(const OptimizerOptions& options) {
  require(options.kind == "sgd" || options.kind == "adamw",
          "there is no optimizer '" + options.kind + "'", "sgd or adamw");
  const auto fraction = [](double value) { return value >= 0 && value < 1; };
  require(fraction(options.momentum) && fraction(options.beta1) && fraction(options.beta2) &&
              options.epsilon > 0 && options.weight_decay >= 0,
          "the optimizer's numbers are out of range",
          "momentum and betas from 0 to below 1, epsilon above 0, weight decay not below 0");
}

}  // namespace

Range Range::part(std::size_t first, std::size_t count) const {
  const auto cut = [&](const auto& all) { return all.empty() ? all : all.subspan(first, count); };
  Range part{begin + first, cut(parameters), cut(gradients), {}};
  for (const auto& state : states) part.states.push_back(cut(state));
  return part;
}

Optimizer::Optimizer(const OptimizerOptions& options, const Layout& layout) : options_(options) {
  check_optimizer(options);
  for (const Unit& unit : layout.units()) {
    for (const Parameter& parameter : unit.parameters) {
      const std::size_t end = unit.begin + parameter.offset + parameter.size();
      if (!runs_.empty() && runs_.back().decays == parameter.decays()) {
        runs_.back().end = end;
      } else {
        runs_.push_back({end, parameter.decays()});
      }
    }
  }
}

std::size_t Optimizer::states() const {
  if (options_.kind == "adamw") return 2;
  return options_.momentum > 0 ? 1 : 0;
}

void Optimizer::update(const Machine& machine, const Range& range, const Step& step) const {
  const std::size_t end = range.begin + range.parameters.size();
  const auto past = [](std::size_t position, const Run& run) { return position < run.end; };
  auto run = std::upper_bound(runs_.begin(), runs_.end(), range.begin, past);
  for (std::size_t at = range.begin; at < end; ++run) {
    const std::size_t stop = std::min(end, run->end);
    launch(machine, range.part(at - range.begin, stop - at), step, run->decays);
    at = stop;
  }
}

void Optimizer::launch(const Machine& machine, const Range& run, const Step& step,
                       bool decays) const {
  const auto number = [](double value) { return static_cast<float>(value); };
  const double decay = decays ? options_.weight_decay : 0;
  if (options_.kind == "sgd") {
    const Buffer velocity = run.states.empty() ? Buffer{} : buffer_of(run.states[0]);
    const std::array numbers{number(step.learning_rate), number(step.gradient_scale), number(decay),
                             number(options_.momentum)};
    return machine.launch(
        make_call(Kernel::sgd, {buffer_of(run.parameters), buffer_of(run.gradients), velocity}, {},
                  numbers),
        run.parameters.size(), false);
  }
  const auto count = static_cast<double>(step.number);
  const std::array numbers{number(step.learning_rate / (1 - std::pow(options_.beta1, count))),
                           number(1 / std::sqrt(1 - std::pow(options_.beta2, count))),
                           number(1 - step.learning_rate * decay),
                           number(step.gradient_scale),
                           number(options_.beta1),
                           number(options_.beta2),
                           number(options_.epsilon)};
  machine.launch(make_call(Kernel::adamw,
                           {buffer_of(run.parameters), buffer_of(run.gradients),
                            buffer_of(run.states[0]), buffer_of(run.states[1])},
                           {}, numbers),
                 run.parameters.size(), false);
}

double LearningRate::at(std::size_t step) const {
  if (step < warm_up) {
    return peak * static_cast<double>(step + 1) / static_cast<double>(warm_up);
  }
  if (step >= steps || steps <= warm_up) return steps <= warm_up ? peak : floor;
  const double progress =
      static_cast<double>(step - warm_up) / static_cast<double>(steps - warm_up);
  return floor + (peak - floor) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

double clip_scale(double norm, double limit) {
  return limit > 0 && norm > limit ? limit / norm : 1;
}

}  // namespace rondo::train
