// Trainings on a device give the CPU's losses.
#include <filesystem>

#include "tests/catch.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/support/files.h"
#include "tests/trainer/train.h"

namespace {

using namespace rondo;

train::Options small_options() {
  auto options = test::small_gpt_options();
  options.formulas = "brief";
  return options;
}

std::vector<test::Loss> losses_of(int ranks, train::Options options, const std::string& device) {
  options.device = device;
  return test::losses_of(ranks, options);
}

TEST_CASE("each of 20 losses on devices is the processor's, for every strategy", "[ranks]") {
  const auto options = small_options();
  const auto expected = losses_of(1, options, "cpu");
  REQUIRE(expected.size() == 20);
  CHECK(expected.back().loss < expected.front().loss);
  for (const auto& strategy : train::strategies()) {
    for (const int ranks : {1, 2}) {
      auto shared = options;
      shared.strategy.kind = strategy.name;
      INFO(strategy.name << " on " << ranks << " ranks");
      CHECK(test::difference(losses_of(ranks, shared, "gpu"), expected) == "");
    }
  }
}

TEST_CASE("micro-steps and activations that are made again change no loss on a device", "[ranks]") {
  auto options = small_options();
  const auto expected = losses_of(1, options, "cpu");
  options.accumulate = 3;
  options.model.checkpoint_activations = true;
  options.sample = 5;
  for (const std::string strategy : {"ddp", "zero2"}) {
    options.strategy.kind = strategy;
    CHECK(test::difference(losses_of(2, options, "gpu"), expected) == "");
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
    CHECK(test::difference(rest, {expected.begin() + 3, expected.end()}) == "");
  }
}

TEST_CASE("what a device cannot do is refused on every rank", "[ranks]") {
  auto options = small_options();
  options.device = "gpu";
  options.strategy.precision = options.strategy.wire = train::Precision::bf16;
  CHECK_THAT(test::refusal(2, options), Catch::Contains("--device cpu"));
}

TEST_CASE("formulas beside what devices measured: memory is exact, times are there", "[ranks]") {
  auto options = small_options();
  options.device = "gpu";
  options.formulas = "full";
  for (const auto& strategy : train::strategies()) {
    options.strategy.kind = strategy.name;
    const std::string text = test::train_on(2, options).text;
    INFO(text);
    CHECK_THAT(text, Catch::Contains("memory a rank") && Catch::Contains("within"));
    CHECK_THAT(text, Catch::Contains("t_comm alone; exposed") && Catch::Contains("busbw "));
    CHECK(text.find("OFF") == std::string::npos);
  }
}

TEST_CASE("[fake] a training that a device has no room for is refused on every rank", "[fake]") {
  auto options = small_options();
  options.device = "gpu";
  const auto refusal = [&](std::size_t left) {
    fake_memory_left(left);
    const std::string words = test::refusal(2, options);
    fake_memory_left(0);
    return words;
  };
  CHECK_THAT(refusal(1U << 16),
             Catch::Contains("on the GPU of rank 0") && Catch::Contains("64 KiB are free there"));
  options.memory_limit = 1000;
  CHECK_THAT(refusal(0), Catch::Contains("the limit is"));
}

TEST_CASE("[fake] a device without room says so on every rank", "[fake]") {
  auto options = small_options();
  options.device = "gpu";
  const std::string words = test::refusal(2, [&](Communicator& world) {
    if (world.rank() == 1) fake_fail_next("cuMemAlloc", 2);
    world.barrier();
    std::ostringstream out;
    train::run(options, world, out);
  });
  CHECK_THAT(words, Catch::Contains("zero3 most"));
}

}  // namespace
