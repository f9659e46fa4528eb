// A device's operations give the CPU's results. Errors if no device can be used.
#include <cmath>
#include <functional>
#include <vector>

#include "tests/catch.h"
#include "tests/trainer/train.h"
#include "tools/trainer/data/random.h"
#include "tools/trainer/device/machine.h"
#include "tools/trainer/math/math.h"
#include "tools/trainer/memory/ledger.h"

namespace {

using namespace rondo;
using namespace rondo::train;
using Values = std::vector<float>;

Values random_values(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Values values(size);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// Runs body(machine) with a device of its own.
template <class Body>
void on_device(Body&& body, bool offload = false) {
  test::with_world(1, {}, [&](Communicator& world) {
    const auto machine = open_device_machine(world.dup(), offload);
    body(*machine);
  });
}

/// An array in the operations' memory, or on the host if there is no supply.
class Place {
 public:
  explicit Place(const Machine& machine) : machine_(machine), ledger_(machine) {}

  std::span<float> of(const Values& values) {
    arrays_.push_back({ledger_, Use::activations, values.size()});
    arrays_.back().write(0, values);
    return arrays_.back().span();
  }
  std::span<float> zeros(std::size_t size) { return of(Values(size)); }
  Values get(std::span<const float> values) const {
    Values host(values.size());
    machine_.read(values.data(), host.data(), values.size_bytes());
    return host;
  }

 private:
  const Machine& machine_;
  Ledger ledger_;
  std::vector<Array<float>> arrays_{};
};

/// Returns the result of an operation on the machine.
using Operation = std::function<std::vector<Values>(const Machine& machine)>;

void expect_alike(const Operation& operation) {
  const auto expected = operation(host_machine());
  on_device([&](const Machine& machine) {
    const auto values = operation(machine);
    test::must(values.size() == expected.size(), "as many results");
    for (std::size_t i = 0; i < values.size(); ++i) {
      test::must(values[i].size() == expected[i].size(), "as many values");
      for (std::size_t k = 0; k < values[i].size(); ++k) {
        const float allowed = 2e-5F * (1 + std::fabs(expected[i][k]));
        test::must(std::fabs(values[i][k] - expected[i][k]) <= allowed,
                   "result " + std::to_string(i) + ", value " + std::to_string(k) + ": " +
                       std::to_string(values[i][k]) + " for " + std::to_string(expected[i][k]));
      }
    }
  });
}

TEST_CASE("a linear layer on a device is the processor's") {
  constexpr std::size_t rows = 7, inputs = 5, outputs = 9;
  expect_alike([&](const Machine& machine) {
    Place place(machine);
    const auto input = place.of(random_values(rows * inputs, 1));
    const auto weight = place.of(random_values(outputs * inputs, 2));
    const auto bias = place.of(random_values(outputs, 3));
    const auto outer = place.of(random_values(rows * outputs, 4));
    const auto output = place.zeros(rows * outputs);
    const auto input_gradient = place.zeros(input.size());
    const auto weight_gradient = place.of(random_values(weight.size(), 5));
    const auto bias_gradient = place.of(random_values(outputs, 6));
    Math(machine).linear(input, weight, bias, output);
    Math(machine).linear_backward(outer, input, weight,
                                  {input_gradient, weight_gradient, bias_gradient});
    return std::vector{place.get(output), place.get(input_gradient), place.get(weight_gradient),
                       place.get(bias_gradient)};
  });
}

TEST_CASE("attention on a device is the processor's") {
  const AttentionShape shape{.blocks = 3, .length = 37, .heads = 2, .width = 10};
  const std::size_t rows = shape.blocks * shape.length;
  expect_alike([&](const Machine& machine) {
    Place place(machine);
    const auto packed = place.of(random_values(rows * 3 * shape.width, 1));
    const auto outer = place.of(random_values(rows * shape.width, 2));
    const auto weights = place.zeros(shape.weights());
    const auto output = place.zeros(rows * shape.width);
    const std::size_t sequences = Math(machine).sequences_at_once(shape.blocks);
    const auto scratch = place.zeros(sequences * shape.length * shape.length);
    const auto gradient = place.zeros(packed.size());
    Math(machine).attention(shape, packed, weights, output);
    Math(machine).attention_backward(shape, outer, packed, weights, scratch, gradient);
    return std::vector{place.get(weights), place.get(output), place.get(gradient)};
  });
}

TEST_CASE("layer norm on a device is the processor's") {
  constexpr std::size_t rows = 45, width = 70;
  expect_alike([&](const Machine& machine) {
    Place place(machine);
    const auto input = place.of(random_values(rows * width, 1));
    const auto gain = place.of(random_values(width, 2));
    const auto bias = place.of(random_values(width, 3));
    const auto outer = place.of(random_values(rows * width, 4));
    const auto output = place.zeros(input.size());
    const NormStatistics kept{place.zeros(rows), place.zeros(rows)};
    const auto sum = place.of(random_values(input.size(), 5));
    const auto gain_gradient = place.of(random_values(width, 6));
    const auto bias_gradient = place.of(random_values(width, 7));
    Math(machine).layer_norm(input, gain, bias, output, kept);
    Math(machine).layer_norm_backward(outer, input, gain, kept,
                                      {sum, gain_gradient, bias_gradient});
    return std::vector{place.get(output),        place.get(kept.mean),
                       place.get(sum),           place.get(kept.inverse_deviation),
                       place.get(gain_gradient), place.get(bias_gradient)};
  });
}

TEST_CASE("element by element, a device does what the processor does") {
  constexpr std::size_t size = 1000;
  expect_alike([&](const Machine& machine) {
    Place place(machine);
    const auto a = place.of(random_values(size, 1));
    const auto b = place.of(random_values(size, 2));
    const auto sum = place.zeros(size);
    const auto active = place.zeros(size);
    const auto gradient = place.of(random_values(size, 3));
    const auto cleared = place.of(random_values(size, 4));
    Math(machine).add(a, b, sum);
    Math(machine).gelu(a, active);
    Math(machine).gelu_backward(gradient, a, gradient);
    Math(machine).zero(cleared);
    const Values squares{static_cast<float>(machine.sum_of_squares(a))};
    return std::vector{place.get(sum), place.get(active), place.get(gradient), place.get(cleared),
                       squares};
  });
}

TEST_CASE("embedding on a device is the processor's, also for tokens that repeat") {
  const std::vector<std::int32_t> tokens{2, 0, 2, 1, 1, 1, 4, 2};
  constexpr std::size_t columns = 4, width = 6, vocabulary = 5, positions = 7;
  expect_alike([&](const Machine& machine) {
    Place place(machine);
    const auto table = place.of(random_values(vocabulary * width, 1));
    const auto places = place.of(random_values(positions * width, 2));
    const auto outer = place.of(random_values(tokens.size() * width, 3));
    const auto output = place.zeros(outer.size());
    const auto table_gradient = place.of(random_values(table.size(), 4));
    const auto place_gradient = place.of(random_values(places.size(), 5));
    Math(machine).embed(tokens, columns, table, places, output);
    Math(machine).embed_backward(outer, tokens, columns, table_gradient, place_gradient);
    return std::vector{place.get(output), place.get(table_gradient), place.get(place_gradient)};
  });
}

TEST_CASE("cross-entropy on a device is the processor's") {
  const std::vector<std::int32_t> targets{1, 0, 39, 7};
  expect_alike([&](const Machine& machine) {
    Place place(machine);
    const auto scores = place.of(random_values(targets.size() * 40, 1));
    Ledger ledger(machine);
    Array<double> losses(ledger, Use::activations, targets.size());
    const Values loss{
        static_cast<float>(Math(machine).cross_entropy(scores, targets, losses.span()))};
    Math(machine).cross_entropy_backward(scores, targets, 0.25F);
    return std::vector{loss, place.get(scores)};
  });
}

TEST_CASE("an optimizer's step on a device, offloaded or not, is the processor's") {
  const std::string kind = GENERATE("sgd", "adamw");
  constexpr std::size_t size = 300'000;  // of several pieces
  Unit unit{"unit"};
  unit.add({"matrix", {size - 100, 1}});
  unit.add({"vector", {100}});
  const Layout layout({unit});
  const Optimizer optimizer({.kind = kind}, layout);
  const auto step_on = [&](const Machine& machine, bool offload) {
    Ledger ledger(machine);
    Array<float> parameters(ledger, Use::parameters, size);
    Array<float> gradients(ledger, Use::gradients, size);
    Array<float> master(ledger, Use::master, size);
    std::vector<Array<float>> states;
    parameters.write(0, random_values(size, 1));
    master.write(0, random_values(size, 1));
    gradients.write(0, random_values(size, 2));
    Range range{0, offload ? master.span() : parameters.span(), gradients.span(), {}, {}};
    for (std::size_t i = 0; i < optimizer.states(); ++i) {
      states.emplace_back(ledger, Use::optimizer, size);
      range.states.push_back(states.back().span());
    }
    if (offload) range.copies = parameters.span();
    for (std::size_t number = 1; number <= 2; ++number)
      machine.update(optimizer, range, {number, 0.1, 0.5});
    Values after(size);
    machine.read(parameters.data(), after.data(), size * sizeof(float));
    return after;
  };
  const Values expected = step_on(host_machine(), false);
  CHECK(expected != random_values(size, 1));
  for (const bool offload : {false, true}) {
    on_device(
        [&](const Machine& machine) {
          test::must(step_on(machine, offload) == expected, "the same bits");
        },
        offload);
  }
}

std::string refusal(const device::Libraries& libraries) {
  std::string said;
  test::with_world(1, {}, [&](Communicator& world) {
    try {
      open_device_machine(world.dup(), false, libraries);
    } catch (const Error& error) {
      test::must(error.code() == ErrorCode::invalid_usage, "misuse");
      said = error.what();
    }
  });
  return said;
}

TEST_CASE("without a driver or cuBLAS the words say what is missing and what to do") {
  const std::string driver = refusal({.driver = "libnodriver.so.1"});
  CHECK(driver.find("no libnodriver.so.1") != std::string::npos);
  CHECK(driver.find("--device cpu") != std::string::npos);
  const std::string cublas =
      refusal({.cublas = {"libnoblas.so.3", "libnoblas.so.2", "libnoblas.so.1"}});
  CHECK(cublas.find("libnoblas.so.3, libnoblas.so.2, libnoblas.so.1") != std::string::npos);
  CHECK(cublas.find("libcublas12") != std::string::npos);
}

}  // namespace
