// The optimizers agree with the formulas in double, whole and in shards.
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

TEST_CASE("AdamW follows its formula, and decays matrices only") {
  const auto layout = small_layout();
  const OptimizerOptions options{.kind = "adamw", .weight_decay = 0.1};
  const Optimizer optimizer(options, layout);
  Values values(layout.size());
  const Values start = values;
  std::vector<double> expected(start.parameters.begin(), start.parameters.end());
  std::vector<double> mean(layout.size()), square(layout.size());
  for (std::size_t step = 1; step <= 3; ++step) {
    optimizer.update(host_machine(), values.range(0, layout.size(), 2), {step, 0.01, 0.5});
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const double gradient = 0.5 * static_cast<double>(start.gradients[i]);
      mean[i] = 0.9 * mean[i] + 0.1 * gradient;
      square[i] = 0.99 * square[i] + 0.01 * gradient * gradient;
      const double mean_hat = mean[i] / (1 - std::pow(0.9, static_cast<double>(step)));
      const double square_hat = square[i] / (1 - std::pow(0.99, static_cast<double>(step)));
      if (decays(i)) expected[i] *= 1 - 0.01 * 0.1;
      expected[i] -= 0.01 * mean_hat / (std::sqrt(square_hat) + 1e-8);
    }
  }
  for (std::size_t i = 0; i < layout.size(); ++i) {
    CHECK(values.parameters[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-6));
  }
}

TEST_CASE("SGD with momentum follows its formula") {
  const auto layout = small_layout();
  const Optimizer optimizer({.kind = "sgd", .momentum = 0.8, .weight_decay = 0.05}, layout);
  Values values(layout.size());
  const Values start = values;
  std::vector<double> expected(start.parameters.begin(), start.parameters.end());
  std::vector<double> velocity(layout.size());
  for (std::size_t step = 1; step <= 3; ++step) {
    optimizer.update(host_machine(), values.range(0, layout.size(), 1), {step, 0.1, 1.0});
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const double decay = decays(i) ? 0.05 * expected[i] : 0;
      velocity[i] = 0.8 * velocity[i] + static_cast<double>(start.gradients[i]) + decay;
      expected[i] -= 0.1 * velocity[i];
    }
  }
  for (std::size_t i = 0; i < layout.size(); ++i) {
    CHECK(values.parameters[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-6));
  }
  CHECK(Optimizer({.kind = "sgd", .momentum = 0}, layout).states() == 0);
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
