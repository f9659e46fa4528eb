// The model: its gradients agree with finite differences, and options that must not change them do
// not.
#include <cmath>
#include <numeric>
#include <vector>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/support/threads.h"
#include "tests/trainer/bare.h"
#include "tools/trainer/data/random.h"

namespace {

using namespace rondo::train;

ModelOptions small_gpt() {
  return {.outputs = 7, .inputs = 5, .layers = 2, .heads = 2, .width = 8};
}

/// Any tokens.
Batch batch_of(const std::vector<std::size_t>& rows) {
  const auto model = small_gpt();
  Batch batch{.rows = rows.size(), .columns = model.inputs};
  for (const std::size_t row : rows) {
    Random random(row);
    for (std::size_t i = 0; i < model.inputs; ++i) {
      batch.tokens.push_back(static_cast<std::int32_t>(random.below(model.outputs)));
      batch.targets.push_back(static_cast<std::int32_t>(random.below(model.outputs)));
    }
  }
  return batch;
}
Batch small_batch() { return batch_of({0, 1, 2}); }

/// Runs body(model and strategy, the flat model's parameters) on one rank.
template <class Body>
void with_model(const ModelOptions& model, Body body) {
  rondo::test::with_world(1, {}, [&](rondo::Communicator& world) {
    Bare bare(world, model);
    body(bare, bare.strategy.shards()[0].parameters);
  });
}

/// The gradient of the batch's loss.
std::vector<float> gradient_of(Bare& bare, const Batch& batch) {
  bare.learn(batch, 1);
  std::vector<float> all;
  for (std::size_t unit = 0; unit < bare.model.layout().units().size(); ++unit) {
    const auto part = bare.strategy.gradients(unit);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

double dot(std::span<const double> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// A direction of length 1 near that of the gradient, so that rounding hides little.
std::vector<double> direction_near(std::span<const float> gradient, Random& random) {
  std::vector<double> random_part, all;
  for (std::size_t i = 0; i < gradient.size(); ++i) random_part.push_back(random.normal());
  const auto norm = [](const auto& values) {
    double squares = 0;
    for (const auto value : values) squares += static_cast<double>(value) * value;
    return std::sqrt(squares) + 1e-9;
  };
  for (std::size_t i = 0; i < gradient.size(); ++i)
    all.push_back(static_cast<double>(gradient[i]) / norm(gradient) +
                  random_part[i] / norm(random_part));
  const double length = norm(all);
  for (double& value : all) value /= length;
  return all;
}

void check_gradients(const ModelOptions& options) {
  with_model(options, [&](Bare& bare, std::span<float> parameters) {
    Random random(5);
    // Larger values than models start from, so that no gradient is lost in rounding.
    for (float& value : parameters) value += static_cast<float>(0.3 * random.normal());
    const Batch batch = small_batch();
    const auto gradient = gradient_of(bare, batch);
    const auto loss_at = [&](std::span<float> values, const std::vector<float>& kept,
                             const std::vector<double>& direction, double way) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = kept[i] + static_cast<float>(way * direction[i]);
      return bare.model.forward(batch, bare.strategy);
    };
    for (const Unit& unit : bare.model.layout().units()) {
      for (const Parameter& parameter : unit.parameters) {
        const std::size_t begin = unit.begin + parameter.offset;
        const auto values = parameters.subspan(begin, parameter.size());
        const std::span<const float> own(&gradient[begin], parameter.size());
        const std::vector<float> kept(values.begin(), values.end());
        for (int attempt = 0; attempt < 3; ++attempt) {
          const auto direction = direction_near(own, random);
          constexpr double way = 0.01;
          const double slope =
              (loss_at(values, kept, direction, way) - loss_at(values, kept, direction, -way)) /
              (2 * way);
          const double expected = dot(direction, own);
          rondo::test::expect_that(
              std::fabs(slope - expected) < 0.003 * std::fabs(expected) + 0.003,
              parameter.name + ": " + std::to_string(slope) + " is " + std::to_string(expected));
        }
        std::copy(kept.begin(), kept.end(), values.begin());
      }
    }
  });
}

TEST_CASE("the gradient of every tensor is the derivative of the loss") {
  check_gradients(small_gpt());
}

TEST_CASE("activations that are made again give the same bits, and hold less") {
  auto options = small_gpt();
  options.layers = 4;
  std::vector<std::vector<float>> gradients;
  std::vector<std::size_t> held;
  for (const bool checkpoint : {false, true}) {
    options.checkpoint_activations = checkpoint;
    with_model(options, [&](Bare& bare, std::span<float>) {
      gradients.push_back(gradient_of(bare, small_batch()));
      held.push_back(bare.activations.peak(Use::activations));
    });
  }
  CHECK(gradients[0] == gradients[1]);
  CHECK(held[1] * 2 < held[0]);
}

TEST_CASE("rounded computation comes close to float32's") {
  std::vector<double> losses;
  for (const auto precision : {Precision::float32, Precision::bf16, Precision::fp16}) {
    auto options = small_gpt();
    options.precision = precision;
    with_model(options, [&](Bare& bare, std::span<float>) {
      losses.push_back(bare.model.forward(small_batch(), bare.strategy));
    });
  }
  CHECK(losses[1] == Approx(losses[0]).epsilon(0.01));
  CHECK(losses[2] == Approx(losses[0]).epsilon(0.002));
  CHECK(losses[1] != losses[0]);
  CHECK(losses[2] != losses[1]);
}

TEST_CASE("a batch of another shape is served too") {
  double whole = 0;
  double parts = 0;
  with_model(small_gpt(), [&](Bare& bare, std::span<float>) {
    whole = bare.model.forward(small_batch(), bare.strategy);
    for (const std::size_t row : {0U, 1U, 2U})
      parts += bare.model.forward(batch_of({row}), bare.strategy);
  });
  CHECK(parts == Approx(whole).epsilon(1e-6));
}

TEST_CASE("impossible models are refused in words") {
  Ledger ledger;
  auto options = small_gpt();
  options.heads = 3;
  CHECK_THROWS_AS(Gpt(options, ledger), rondo::Error);
  options = small_gpt();
  options.outputs = 0;
  CHECK_THROWS_AS(Gpt(options, ledger), rondo::Error);
}

}  // namespace
