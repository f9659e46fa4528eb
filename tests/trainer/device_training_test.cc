// Trainings on a device give the CPU's losses.
#include <cmath>
#include <filesystem>

#include "tests/catch.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/tools/rondorun/support/process.h"
#include "tests/trainer/train.h"

namespace {

using namespace rondo;

train::Options small_options() {
  auto options = test::small_gpt_options();
  options.formulas = train::Formulas::brief;
  return options;
}

std::vector<double> losses_of(int ranks, train::Options options, const std::string& device) {
  options.device = device;
  std::vector<double> losses;
  for (const auto& step : test::train_on(ranks, options).steps) losses.push_back(step.loss);
  return losses;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(!a.empty());
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] / b[i] - 1));
  return worst;
}

TEST_CASE("each of 20 losses on devices is the processor's, for every strategy", "[ranks]") {
  const auto options = small_options();
  const auto expected = losses_of(1, options, "cpu");
  REQUIRE(expected.size() == 20);
  CHECK(expected.back() < expected.front());
  for (const auto& strategy : train::strategies()) {
    for (const int ranks : {1, 2}) {
      auto shared = options;
      shared.strategy.kind = strategy.name;
      INFO(strategy.name << " on " << ranks << " ranks");
      CHECK(largest_difference(losses_of(ranks, shared, "gpu"), expected) < 1e-5);
    }
  }
  CHECK(fake_violations() == 0);
}

TEST_CASE("micro-steps and activations that are made again change no loss on a device", "[ranks]") {
  auto options = small_options();
  const auto expected = losses_of(1, options, "cpu");
  options.accumulate = 3;
  options.model.checkpoint_activations = true;
  options.sample = 5;
  for (const std::string strategy : {"ddp", "zero2"}) {
    options.strategy.kind = strategy;
    CHECK(largest_difference(losses_of(2, options, "gpu"), expected) < 1e-5);
  }
}

TEST_CASE("a checkpoint of one device is resumed on the other", "[ranks]") {
  auto options = small_options();
  options.steps = options.rate.steps = 6;
  const auto expected = losses_of(2, options, "cpu");
  for (const std::string first : {"cpu", "gpu"}) {
    const test::TemporaryFolder scratch;
    auto begun = options;
    begun.checkpoint.folder = scratch / "checkpoints";
    begun.checkpoint.every = 3;
    begun.strategy.kind = "zero1";
    losses_of(2, begun, first);
    std::filesystem::remove_all(begun.checkpoint.folder + "/step-00000006");
    auto resumed = begun;
    resumed.checkpoint.resume = true;
    resumed.strategy.kind = "ddp";
    const std::string second = first == "cpu" ? "gpu" : "cpu";
    const auto rest = losses_of(2, resumed, second);
    CHECK(largest_difference(rest, {expected.begin() + 3, expected.end()}) < 1e-5);
  }
}

TEST_CASE("what a device cannot do is refused on every rank", "[ranks]") {
  const auto expect_refused = [](const train::Options& options, const std::string& part) {
    test::on_world(2, [&](Communicator& world) {
      std::string said;
      try {
        std::ostringstream out;
        train::run(options, world, out, 0);
      } catch (const train::AgreedError& error) {
        said = error.what();
      }
      test::must(said.find(part) != std::string::npos, said);
    });
  };
  auto options = small_options();
  options.device = "gpu";
  options.strategy.precision = options.strategy.wire = train::Precision::bf16;
  expect_refused(options, "--device cpu");
}

TEST_CASE("formulas beside what devices measured: memory is exact, times are there", "[ranks]") {
  auto options = small_options();
  options.device = "gpu";
  options.formulas = train::Formulas::full;
  for (const auto& strategy : train::strategies()) {
    options.strategy.kind = strategy.name;
    const std::string text = test::train_on(2, options).text;
    INFO(text);
    CHECK_THAT(text, Catch::Contains("memory a rank") && Catch::Contains("within"));
    CHECK_THAT(text, Catch::Contains("t_comm alone; exposed") && Catch::Contains("busbw "));
    CHECK(text.find("OFF") == std::string::npos);
  }
  CHECK(fake_violations() == 0);
}

TEST_CASE("[fake] a training that a device has no room for is refused on every rank", "[fake]") {
  auto options = small_options();
  options.device = "gpu";
  const auto refusal = [&](std::size_t left) {
    fake_memory_left(left);
    std::vector<std::string> said(2);
    test::on_world(2, [&](Communicator& world) {
      try {
        std::ostringstream out;
        train::run(options, world, out, 0);
      } catch (const train::AgreedError& error) {
        said[static_cast<std::size_t>(world.rank())] = error.message();
      }
    });
    fake_memory_left(0);
    CHECK(said[0] == said[1]);
    return said[0];
  };
  CHECK_THAT(refusal(1U << 16),
             Catch::Contains("on the GPU of rank 0") && Catch::Contains("0.06 MiB are free there"));
  options.memory_limit = 1000;
  CHECK_THAT(refusal(0), Catch::Contains("the limit is"));
}

TEST_CASE("[fake] a device without room says so on every rank", "[fake]") {
  auto options = small_options();
  options.device = "gpu";
  test::on_world(2, [&](Communicator& world) {
    if (world.rank() == 1) fake_fail_next("cuMemAlloc", 2);
    world.barrier();
    std::string said;
    try {
      std::ostringstream out;
      train::run(options, world, out, 0);
    } catch (const train::AgreedError& error) {
      said = error.what();
    }
    test::must(said.find("zero3 most") != std::string::npos, said);
  });
}

}  // namespace
