// Training with any strategy on 1 to 4 ranks gives the losses of one rank.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/trainer/rig.h"

namespace {

using namespace rondo::train;

void check_equality(Setup setup) {
  constexpr std::size_t steps = 50;
  setup.strategy.bucket_bytes = 2000;
  setup.strategy.kind = "ddp";
  const auto expected = losses_of(1, setup, steps);
  CHECK(expected.back() < 0.9 * expected.front());
  for (const StrategyInfo& row : strategies()) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
      setup.strategy.kind = row.name;
      INFO(row.name << " on " << ranks);
      CHECK(largest_difference(losses_of(ranks, setup, steps), expected) < 1e-5);
    }
  }
}

TEST_CASE("SGD's losses are one rank's: a GPT, gradients clipped") {
  Setup setup;
  setup.rate = 0.1;
  setup.clip = 0.5;
  check_equality(setup);
}

TEST_CASE("SGD's losses are one rank's: an MLP, three micro-steps") {
  Setup setup{.model = small_points()};
  setup.rows = 36;
  setup.micro_steps = 3;
  setup.rate = 0.1;
  check_equality(setup);
}

TEST_CASE("16-bit training follows float32's, however it is sharded") {
  Setup setup{
      .optimizer = {.kind = "adamw"}, .rows = 36, .micro_steps = 2, .rate = 0.01, .loss_scale = 64};
  const auto expected = losses_of(1, setup, 20);
  for (const StrategyInfo& row : strategies()) {
    for (const auto precision : {Precision::bf16, Precision::fp16}) {
      setup.model.precision = precision;
      setup.strategy = {.kind = std::string(row.name),
                        .bucket_bytes = 2000,
                        .precision = precision,
                        .wire = precision};
      INFO(row.name << " in " << info(precision).name);
      CHECK(largest_difference(losses_of(3, setup, 20), expected) <
            (precision == Precision::bf16 ? 0.05 : 0.01));
    }
  }
}

}  // namespace
