// N ranks give the losses of one rank on the same global batches, with every strategy of the table.
#include "tests/catch.h"
#include "tests/trainer/train.h"

namespace {

using namespace rondo;

train::Options sgd(train::Options options) {
  options.optimizer = {.kind = "sgd", .momentum = 0.9, .weight_decay = 0.01};
  options.rate = {.peak = 0.1, .floor = 0.01, .warm_up = 5, .steps = 50};
  options.steps = 50;
  return options;
}

TEST_CASE("each of 50 losses is one rank's, for every strategy and number of ranks") {
  const auto options = sgd(test::small_gpt_options());
  const auto alone = test::losses_of(1, options);
  REQUIRE(alone.size() == 50);
  CHECK(alone.back().loss < 0.85 * alone.front().loss);
  for (const auto& strategy : train::strategies()) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
      auto shared = options;
      shared.strategy.kind = strategy.name;
      INFO(strategy.name << " on " << ranks << " ranks");
      CHECK(test::difference(test::losses_of(ranks, shared), alone) == "");
    }
  }
}

TEST_CASE("micro-steps change no loss, with no_sync and without") {
  const auto options = sgd(test::small_gpt_options());
  const auto alone = test::losses_of(1, options);
  for (const bool every : {false, true}) {
    auto cut = options;
    cut.accumulate = 3;
    cut.strategy.sync_every_micro_step = every;
    CHECK(test::difference(test::losses_of(2, cut), alone) == "");
  }
}

TEST_CASE("ranks with unequal shares give one rank's losses") {
  auto options = sgd(test::small_gpt_options());
  options.batch = 11;  // 3 ranks: 4, 4 and 3
  const auto alone = test::losses_of(1, options);
  CHECK(alone.back().loss < alone.front().loss);
  for (int ranks = 2; ranks <= 4; ++ranks) {
    CHECK(test::difference(test::losses_of(ranks, options), alone) == "");
  }
}

}  // namespace
