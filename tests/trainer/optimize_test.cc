// The optimizers agree with the formulas in double, whole and in shards.
#include <array>
#include <cmath>
#include <vector>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tools/trainer/machine/machine.h"
#include "tools/trainer/optimize/optimizer.h"

namespace {

using namespace rondo::train;

// A bias between two matrices, and a bias at the end: 6 + 2 + 4 + 3 values.
Layout small_layout() {
  Unit first{"first"};
  first.add({"first.weight", {2, 3}});
  first.add({"first.bias", {2}});
  Unit second{"second"};
  second.add({"second.weight", {2, 2}});
  second.add({"second.bias", {3}});
  return Layout({first, second});
}

bool decays(std::size_t index) { return index < 6 || (index >= 8 && index < 12); }

struct Values {
  std::vector<float> parameters, gradients, first, second;
  explicit Values(std::size_t size) : first(size), second(size) {
    for (std::size_t i = 0; i < size; ++i) {
      parameters.push_back(0.5F - 0.07F * static_cast<float>(i));
      gradients.push_back(0.3F * std::sin(static_cast<float>(i)));
    }
  }
  Range range(std::size_t begin, std::size_t end, std::size_t states) {
    const auto cut = [&](std::vector<float>& all) {
      return std::span<float>(all).subspan(begin, end - begin);
    };
    Range run{begin, cut(parameters), cut(gradients), {}};
    if (states > 0) run.states.push_back(cut(first));
    if (states > 1) run.states.push_back(cut(second));
    return run;
  }
};

/// Three steps of the optimizer are those of formula(step, index, gradient, parameter) in double.
template <class Formula>
void check_steps(const OptimizerOptions& options, double rate, double scale, Formula formula) {
  const auto layout = small_layout();
  const Optimizer optimizer(options, layout);
  Values values(layout.size());
  std::vector<double> expected(values.parameters.begin(), values.parameters.end());
  for (std::size_t step = 1; step <= 3; ++step) {
    optimizer.update(host_machine(), values.range(0, layout.size(), optimizer.states()),
                     {step, rate, scale});
    for (std::size_t i = 0; i < layout.size(); ++i)
      formula(static_cast<double>(step), i, scale * static_cast<double>(values.gradients[i]),
              expected[i]);
  }
  for (std::size_t i = 0; i < layout.size(); ++i)
    CHECK(values.parameters[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-6));
}

TEST_CASE("AdamW follows its formula, and decays matrices only") {
  std::array<double, 15> mean{}, square{};
  check_steps({.kind = "adamw", .weight_decay = 0.1}, 0.01, 0.5,
              [&](double step, std::size_t i, double gradient, double& parameter) {
                mean[i] = 0.9 * mean[i] + 0.1 * gradient;
                square[i] = 0.99 * square[i] + 0.01 * gradient * gradient;
                const double mean_hat = mean[i] / (1 - std::pow(0.9, step));
                const double square_hat = square[i] / (1 - std::pow(0.99, step));
                if (decays(i)) parameter *= 1 - 0.01 * 0.1;
                parameter -= 0.01 * mean_hat / (std::sqrt(square_hat) + 1e-8);
              });
}

TEST_CASE("SGD with momentum follows its formula") {
  std::array<double, 15> velocity{};
  check_steps({.kind = "sgd", .momentum = 0.8, .weight_decay = 0.05}, 0.1, 1,
              [&](double, std::size_t i, double gradient, double& parameter) {
                velocity[i] = 0.8 * velocity[i] + gradient + (decays(i) ? 0.05 * parameter : 0);
                parameter -= 0.1 * velocity[i];
              });
  CHECK(Optimizer({.kind = "sgd", .momentum = 0}, small_layout()).states() == 0);
}

TEST_CASE("shards that cut parameters take the same steps as the whole") {
  const auto layout = small_layout();
  for (const std::string kind : {"sgd", "adamw"}) {
    const Optimizer optimizer({.kind = kind}, layout);
    Values whole(layout.size()), sharded(layout.size());
    for (std::size_t step = 1; step <= 2; ++step) {
      optimizer.update(host_machine(), whole.range(0, layout.size(), optimizer.states()),
                       {step, 0.01, 1.0});
      for (std::size_t begin = 0; begin < layout.size(); begin += 5) {
        const std::size_t end = std::min(begin + 5, layout.size());
        optimizer.update(host_machine(), sharded.range(begin, end, optimizer.states()),
                         {step, 0.01, 1.0});
      }
    }
    CHECK(whole.parameters == sharded.parameters);
  }
}

TEST_CASE("the learning rate warms up, then falls along a cosine") {
  const LearningRate rate{.peak = 1.0, .floor = 0.1, .warm_up = 4, .steps = 104};
  CHECK(rate.at(0) == Approx(0.25));
  CHECK(rate.at(3) == Approx(1.0));
  CHECK(rate.at(4) == Approx(1.0));
  CHECK(rate.at(54) == Approx(0.55));
  CHECK(rate.at(104) == Approx(0.1));
  CHECK(rate.at(1000) == Approx(0.1));
}

TEST_CASE("clipping leaves small gradients alone") {
  CHECK(clip_scale(0.5, 1) == 1);
  CHECK(clip_scale(4, 1) == Approx(0.25));
  CHECK(clip_scale(4, 0) == 1);
  const std::vector<float> values{3, -4};
  CHECK(host_machine().sum_of_squares(values) == Approx(25));
}

TEST_CASE("an unknown optimizer is refused in words") {
  const auto layout = small_layout();
  CHECK_THROWS_AS(Optimizer({.kind = "lion"}, layout), rondo::Error);
  CHECK_THROWS_AS(Optimizer({.kind = "sgd", .momentum = 1}, layout), rondo::Error);
  CHECK_THROWS_AS(Optimizer({.kind = "adamw", .epsilon = 0}, layout), rondo::Error);
}

}  // namespace
