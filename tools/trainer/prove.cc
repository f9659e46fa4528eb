#include "tools/trainer/prove.h"

#include <algorithm>
#include <cstdlib>

namespace rondo::train {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

PhaseSeconds medians(const std::vector<StepRecord>& steps) {
  PhaseSeconds all{};
  for (std::size_t phase = 0; phase < all.size(); ++phase) {
    std::vector<double> seconds;
    // The first step connects, and takes pages.
    for (std::size_t step = steps.size() > 1 ? 1 : 0; step < steps.size(); ++step)
      seconds.push_back(steps[step].phases[phase]);
    all[phase] = median(std::move(seconds));
  }
  return all;
}

}  // namespace

bool algorithm_is_chosen() {
  return std::getenv("RONDO_ALGORITHM") != nullptr || std::getenv("NCCL_ALGO") != nullptr;
}

Evidence evidence_of(Session& session, Communicator& world, const Options& options,
                     const std::vector<StepRecord>& steps, const Traffic& sent) {
  const Strategy& strategy = session.strategy();
  Evidence evidence{.strategy = std::string(strategy.name()), .rings = !algorithm_is_chosen()};
  evidence.traits =
      traits_of(options, world.size(), session.layout().size(), strategy.padding(),
                strategy.calls(), make_optimizer(options.optimizer, session.layout())->states());
  std::array<double, 2> sums{static_cast<double>(sent.payload_bytes),
                             static_cast<double>(sent.messages)};
  world.all_reduce(sums.data(), sums.data(), sums.size(), DataType::float64);
  const double turns = static_cast<double>(world.size()) * static_cast<double>(steps.size());
  evidence.payload = sums[0] / turns;
  evidence.messages = sums[1] / turns;
  for (std::size_t use = 0; use < uses.size(); ++use)
    evidence.held[use] = static_cast<double>(session.memory().peak(uses[use].use));
  world.all_reduce(evidence.held.data(), evidence.held.data(), evidence.held.size(),
                   DataType::float64, ReduceOperator::max);
  evidence.phases = medians(steps);
  evidence.alone = communication_alone(world, evidence.strategy, evidence.traits);
  return evidence;
}

}  // namespace rondo::train
