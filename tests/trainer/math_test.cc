// Every layer's backward agrees with finite differences in double, and its float32 form with
// double.
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tests/catch.h"
#include "tools/trainer/data/random.h"
#include "tools/trainer/math/attention.h"
#include "tools/trainer/math/compose.h"
#include "tools/trainer/math/exponential.h"

namespace {

using namespace rondo::train;
using Values = std::vector<double>;

Values random_values(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Values values(size);
  for (double& value : values) value = random.normal();
  return values;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The largest difference between the gradient of loss() and central differences.
double deviation(Values& values, const Values& gradient, const std::function<double()>& loss) {
  double worst = 0;
  constexpr double step = 1e-6;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double kept = values[i];
    values[i] = kept + step;
    const double above = loss();
    values[i] = kept - step;
    const double below = loss();
    values[i] = kept;
    worst = std::max(worst, std::fabs((above - below) / (2 * step) - gradient[i]));
  }
  return worst;
}

constexpr double tolerance = 1e-7;

TEST_CASE("linear: backward is the derivative") {
  constexpr std::size_t rows = 3, inputs = 4, outputs = 5;
  auto input = random_values(rows * inputs, 1);
  auto weight = random_values(outputs * inputs, 2);
  auto bias = random_values(outputs, 3);
  const auto outer = random_values(rows * outputs, 4);
  const auto loss = [&] {
    Values output(rows * outputs);
    linear<double>(host_math<double>(), input, weight, bias, output);
    return dot(output, outer);
  };
  Values input_gradient(input.size()), weight_gradient(weight.size()), bias_gradient(bias.size());
  linear_backward<double>(host_math<double>(), outer, input, weight,
                          {input_gradient, weight_gradient, bias_gradient});
  CHECK(deviation(input, input_gradient, loss) < tolerance);
  CHECK(deviation(weight, weight_gradient, loss) < tolerance);
  CHECK(deviation(bias, bias_gradient, loss) < tolerance);
  // Gradients of parameters are added to.
  linear_backward<double>(host_math<double>(), outer, input, weight,
                          {{}, weight_gradient, bias_gradient});
  for (double& value : weight_gradient) value /= 2;
  CHECK(deviation(weight, weight_gradient, loss) < tolerance);
}

TEST_CASE("layer norm: backward is the derivative") {
  constexpr std::size_t rows = 3, width = 6;
  auto input = random_values(rows * width, 1);
  auto gain = random_values(width, 2);
  auto bias = random_values(width, 3);
  const auto outer = random_values(rows * width, 4);
  Values mean(rows), inverse(rows);
  const auto loss = [&] {
    Values output(rows * width);
    layer_norm<double>(input, gain, bias, output, {mean, inverse});
    return dot(output, outer);
  };
  loss();
  Values input_gradient(input.size()), gain_gradient(width), bias_gradient(width);
  layer_norm_backward<double>(outer, input, gain, {mean, inverse},
                              {input_gradient, gain_gradient, bias_gradient});
  CHECK(deviation(input, input_gradient, loss) < tolerance);
  CHECK(deviation(gain, gain_gradient, loss) < tolerance);
  CHECK(deviation(bias, bias_gradient, loss) < tolerance);
}

TEST_CASE("gelu: backward is the derivative") {
  auto input = random_values(20, 1);
  const auto outer = random_values(20, 2);
  const auto loss = [&] {
    Values output(20);
    gelu<double>(input, output);
    return dot(output, outer);
  };
  Values gradient(20);
  gelu_backward<double>(outer, input, gradient);
  CHECK(deviation(input, gradient, loss) < tolerance);
}

TEST_CASE("attention: backward is the derivative, and the future weighs nothing") {
  const AttentionShape shape{.blocks = 2, .length = 5, .heads = 2, .width = 6};
  const std::size_t rows = shape.blocks * shape.length;
  auto packed = random_values(rows * 3 * shape.width, 1);
  const auto outer = random_values(rows * shape.width, 2);
  Values weights(shape.weights());
  const auto loss = [&] {
    Values output(rows * shape.width);
    attention<double>(host_math<double>(), shape, packed, weights, output);
    return dot(output, outer);
  };
  loss();
  double future = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (i % shape.length > i / shape.length % shape.length) future += std::fabs(weights[i]);
  }
  CHECK(future == 0);
  Values gradient(packed.size()), scratch(shape.length * shape.length);
  attention_backward<double>(host_math<double>(), shape, outer, packed, weights, scratch, gradient);
  CHECK(deviation(packed, gradient, loss) < tolerance);
}

TEST_CASE("embedding: backward is the derivative, also for tokens that repeat") {
  const std::vector<std::int32_t> tokens{2, 0, 2, 1, 1, 1};
  auto table = random_values(3 * 4, 1);
  auto positions = random_values(3 * 4, 2);
  const auto outer = random_values(tokens.size() * 4, 3);
  const auto loss = [&] {
    Values output(tokens.size() * 4);
    embed<double>(tokens, 3, table, positions, output);
    return dot(output, outer);
  };
  Values table_gradient(table.size()), position_gradient(positions.size());
  embed_backward<double>(outer, tokens, 3, table_gradient, position_gradient);
  CHECK(deviation(table, table_gradient, loss) < tolerance);
  CHECK(deviation(positions, position_gradient, loss) < tolerance);
}

TEST_CASE("cross-entropy: backward is the derivative") {
  const std::vector<std::int32_t> targets{1, 0, 3};
  auto scores = random_values(3 * 4, 1);
  const auto loss = [&] { return 0.25 * cross_entropy<double>(scores, targets); };
  Values gradient = scores;
  cross_entropy_backward<double>(gradient, targets, 0.25);
  CHECK(deviation(scores, gradient, loss) < tolerance);
  const Values even(8, 7.0);
  CHECK(cross_entropy<double>(even, std::vector<std::int32_t>{3}) == Approx(std::log(8.0)));
}

TEST_CASE("the float32 exponential is exact to float32, and lets NaN through") {
  double worst = 0;
  for (double x = -80; x < 80; x += 0.0137) {
    const auto given = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(given));
    worst = std::max(worst, std::fabs(static_cast<double>(exponential(given)) / exact - 1));
  }
  CHECK(worst < 2e-7);
  CHECK(exponential(-200.0F) < 1e-37F);
  CHECK(std::isfinite(exponential(1e30F)));
  CHECK(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
  CHECK(hyperbolic_tangent(30.0F) == 1.0F);
  CHECK(hyperbolic_tangent(-30.0F) == -1.0F);
}

}  // namespace
