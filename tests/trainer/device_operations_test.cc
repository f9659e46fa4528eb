// A device's operations give the CPU's results. Errors if no device can be used.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/trainer/bare.h"
#include "tests/trainer/train.h"
#include "tools/trainer/data/random.h"
#include "tools/trainer/device/device.h"

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

/// Runs body(world, machine) with a device of its own.
template <class Body>
void on_device(Body&& body) {
  test::with_world(1, {}, [&](Communicator& world) {
    const train::device::Device machine(world.dup());
    body(world, machine);
  });
}

/// The loss of a model whose sizes fill no warp, and all of its gradients.
struct Learned {
  double loss = 0;
  std::vector<std::pair<std::string, Floats>> gradients{};  ///< by the names of tensors
};
Learned learn_on(Communicator& world, const Machine& machine) {
  constexpr std::size_t rows = 3, columns = 37, characters = 45;
  Random random(7);
  Batch batch{.rows = rows, .columns = columns};
  for (std::size_t i = 0; i < rows * columns; ++i) {
    batch.tokens.push_back(static_cast<std::int32_t>(random.below(characters)));
    batch.targets.push_back(static_cast<std::int32_t>(random.below(characters)));
  }
  Bare bare(world,
            {.outputs = characters, .inputs = 2 * columns, .layers = 2, .heads = 2, .width = 20},
            {}, machine);
  Learned learned{.loss = bare.learn(batch, 0.25)};
  for (std::size_t u = 0; u < bare.model.layout().units().size(); ++u) {
    for (const Parameter& parameter : bare.model.layout().unit(u).parameters) {
      const auto own = bare.strategy.gradients(u).subspan(parameter.offset, parameter.size());
      learned.gradients.emplace_back(parameter.name, Floats(own.size()));
      machine.read(own.data(), learned.gradients.back().second.data(), own.size_bytes());
    }
  }
  return learned;
}

TEST_CASE("the gradient of every tensor on a device is the processor's") {
  on_device([&](Communicator& world, const Machine& machine) {
    const Learned expected = learn_on(world, host_machine());
    const Learned learned = learn_on(world, machine);
    test::expect_that(learned.loss == Approx(expected.loss).epsilon(1e-5), "the loss");
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
      const auto& [name, values] = expected.gradients[i];
      float largest = 0;
      float off = 0;
      for (std::size_t k = 0; k < values.size(); ++k) {
        largest = std::max(largest, std::fabs(values[k]));
        off = std::max(off, std::fabs(values[k] - learned.gradients[i].second[k]));
      }
      test::expect_that(largest > 0 && off <= 5e-5F * largest,
                        name + ": " + std::to_string(off) + " off " + std::to_string(largest));
    }
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
  on_device([&](Communicator&, const Machine& machine) {
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
