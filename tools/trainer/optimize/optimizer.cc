#include "tools/trainer/optimize/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rondo::train {

Optimizer::Optimizer(const Layout& layout) {
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

void Optimizer::update(const Range& range, const Step& step, const Apply& apply) const {
  const std::size_t end = range.begin + range.parameters.size();
  const auto past = [](std::size_t position, const Run& run) { return position < run.end; };
  auto run = std::upper_bound(runs_.begin(), runs_.end(), range.begin, past);
  for (std::size_t at = range.begin; at < end; ++run) {
    // Only a shard's padding follows the last parameter; its gradients are zero.
    const bool padding = run == runs_.end();
    const std::size_t stop = padding ? end : std::min(end, run->end);
    const std::size_t from = at - range.begin;
    const std::size_t count = stop - at;
    Range part{at, range.parameters.subspan(from, count), range.gradients.subspan(from, count), {}};
    for (const auto& state : range.states) part.states.push_back(state.subspan(from, count));
    apply(rule(step, !padding && run->decays), part);
    at = stop;
    if (padding) break;
  }
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

double sum_of_squares(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

}  // namespace rondo::train
