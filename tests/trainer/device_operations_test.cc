// A device's operations give the CPU's results. Errors if no device can be used.
#include <cmath>
#include <functional>
#include <vector>

#include "tests/catch.h"
#include "tests/trainer/train.h"
#include "tools/trainer/data/random.h"
#include "tools/trainer/device/device.h"
#include "tools/trainer/math/math.h"
#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/optimize/optimizer.h"

namespace {

using namespace rondo;
using namespace rondo::train;
using Floats = std::vector<float>;

Floats random_values(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Floats values(size);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// Runs body(machine) with a device of its own.
template <class Body>
void on_device(Body&& body) {
  test::with_world(1, {}, [&](Communicator& world) {
    const train::device::Device machine(world.dup());
    body(machine);
  });
}

/// Arrays of random values in a machine's memory, the same on all machines.
class Place {
 public:
  explicit Place(const Machine& machine) : math(machine), machine_(machine), ledger_(machine) {}

  std::span<float> of(std::size_t size) {
    arrays_.push_back({ledger_, Use::activations, size});
    arrays_.back().write(0, random_values(size, arrays_.size()));
    return arrays_.back().span();
  }
  std::span<double> doubles(std::size_t size) {
    doubles_ = {ledger_, Use::activations, size};
    return doubles_.span();
  }
  /// All arrays, one after the other.
  Floats values() {
    Floats all;
    for (const auto& array : arrays_) {
      Floats host(array.size());
      machine_.read(array.data(), host.data(), array.size() * sizeof(float));
      all.insert(all.end(), host.begin(), host.end());
    }
    return all;
  }

  Math math;

 private:
  const Machine& machine_;
  Ledger ledger_;
  std::vector<Array<float>> arrays_{};
  Array<double> doubles_{};
};

/// Runs it on both; all arrays are then alike, and so is what it returns.
void expect_alike(const std::function<double(Place&)>& operation) {
  const auto run = [&](const Machine& machine) {
    Place place(machine);
    const double result = operation(place);
    Floats values = place.values();
    values.push_back(static_cast<float>(result));
    return values;
  };
  const Floats expected = run(host_machine());
  on_device([&](const Machine& machine) {
    const Floats values = run(machine);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      test::expect_that(std::fabs(values[k] - expected[k]) <= 2e-5F * (1 + std::fabs(expected[k])),
                        "value " + std::to_string(k) + ": " + std::to_string(values[k]) + " for " +
                            std::to_string(expected[k]));
    }
  });
}

TEST_CASE("layers on a device are the processor's") {
  constexpr std::size_t rows = 45, inputs = 5, outputs = 70, size = rows * outputs;
  expect_alike([&](Place& place) {
    const auto input = place.of(rows * inputs), weight = place.of(outputs * inputs);
    const auto bias = place.of(outputs), output = place.of(size), outer = place.of(size);
    place.math.linear(rows, input, {weight, bias}, output);
    place.math.linear_backward(rows, outer, input, weight, place.of(rows * inputs),
                               {place.of(outputs * inputs), place.of(outputs)});
    const auto gain = place.of(outputs), normal = place.of(size);
    const NormStatistics kept{place.of(rows), place.of(rows)};
    place.math.layer_norm(output, {gain, bias}, normal, kept);
    place.math.layer_norm_backward(outer, output, gain, kept, place.of(size),
                                   {place.of(outputs), place.of(outputs)});
    place.math.gelu(normal, place.of(size));
    place.math.gelu_backward(outer, normal, outer);
    place.math.add(outer, normal, place.of(size));
    place.math.zero(input);
    return 0;
  });
}

TEST_CASE("attention on a device is the processor's") {
  const AttentionShape shape{.blocks = 3, .length = 37, .heads = 2, .width = 10};
  const std::size_t rows = shape.blocks * shape.length;
  expect_alike([&](Place& place) {
    const auto packed = place.of(rows * 3 * shape.width), weights = place.of(shape.weights());
    const auto output = place.of(rows * shape.width), gradient = place.of(packed.size());
    place.math.attention(shape, packed, weights, output);
    // The scratch holds something else on each machine.
    const auto scratch = place.of(shape.blocks * shape.length * shape.length);
    place.math.attention_backward(shape, output, packed, weights, scratch, gradient);
    place.math.zero(scratch);
    return 0;
  });
}

TEST_CASE("embedding and loss on a device are the processor's, also for tokens that repeat") {
  const std::vector<std::int32_t> tokens{2, 0, 2, 1, 1, 1, 4, 2};
  constexpr std::size_t columns = 4, width = 6, vocabulary = 5, positions = 7;
  expect_alike([&](Place& place) {
    const auto table = place.of(vocabulary * width), places = place.of(positions * width);
    const auto output = place.of(tokens.size() * width);
    place.math.embed(tokens, columns, table, places, output);
    place.math.embed_backward(output, tokens, columns, place.of(table.size()),
                              place.of(places.size()));
    const auto scores = place.of(tokens.size() * 40);
    const double loss = place.math.cross_entropy(scores, tokens, place.doubles(tokens.size()));
    place.math.cross_entropy_backward(scores, tokens, 0.25F);
    return loss;
  });
}

TEST_CASE("an optimizer's step on a device is the processor's") {
  const std::string kind = GENERATE("sgd", "adamw");
  constexpr std::size_t size = 300'000;
  Unit unit{"unit"};
  unit.add({"matrix", {size - 100, 1}});
  unit.add({"vector", {100}});
  const train::Layout layout({unit});
  const Optimizer optimizer({.kind = kind}, layout);
  const auto step_on = [&](const Machine& machine) {
    Ledger ledger(machine);
    Array<float> parameters(ledger, Use::parameters, size);
    Array<float> gradients(ledger, Use::gradients, size);
    std::vector<Array<float>> states;
    parameters.write(0, random_values(size, 1));
    gradients.write(0, random_values(size, 2));
    Range range{0, parameters.span(), gradients.span(), {}};
    for (std::size_t i = 0; i < optimizer.states(); ++i) {
      states.emplace_back(ledger, Use::optimizer, size);
      range.states.push_back(states.back().span());
    }
    for (std::size_t number = 1; number <= 2; ++number)
      optimizer.update(machine, range, {number, 0.1, 0.5});
    Floats after(size);
    machine.read(parameters.data(), after.data(), size * sizeof(float));
    after.push_back(static_cast<float>(machine.sum_of_squares(parameters.span())));
    return after;
  };
  const Floats expected = step_on(host_machine());
  on_device([&](const Machine& machine) {
    Floats values = step_on(machine);
    test::expect_that(values.back() == Approx(expected.back()), "the sum of squares");
    values.back() = expected.back();
    test::expect_that(values == expected, "the same bits");
  });
}

std::string refusal(const train::device::Libraries& libraries) {
  std::string said;
  test::with_world(1, {}, [&](Communicator& world) {
    try {
      const train::device::Device machine(world.dup(), libraries);
    } catch (const Error& error) {
      test::expect_that(error.code() == ErrorCode::invalid_usage, "misuse");
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
