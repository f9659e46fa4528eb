// N ranks give the losses of one rank on the same global batches, with every strategy of the table.
#include <cmath>

#include "tests/catch.h"
#include "tests/trainer/train.h"

namespace {

using namespace rondo;

double largest_difference(const std::vector<train::StepRecord>& a,
                          const std::vector<train::StepRecord>& b) {
  REQUIRE(!a.empty());
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::fabs(a[i].loss - b[i].loss) / b[i].loss);
  }
  return worst;
}

train::Options sgd(train::Options options) {
  options.optimizer = {.kind = "sgd", .momentum = 0.9, .weight_decay = 0.01};
  options.rate = {.peak = 0.1, .floor = 0.01, .warm_up = 5, .steps = 50};
  options.steps = 50;
  return options;
}

TEST_CASE("each of 50 losses is one rank's, for every strategy and number of ranks") {
  const auto options = sgd(test::small_gpt_options());
  const auto alone = test::train_on(1, options).steps;
  REQUIRE(alone.size() == 50);
  CHECK(alone.back().loss < 0.85 * alone.front().loss);
  for (const auto& strategy : train::strategies()) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
      auto shared = options;
      shared.strategy.kind = strategy.name;
      const auto steps = test::train_on(ranks, shared).steps;
      INFO(strategy.name << " on " << ranks << " ranks");
      REQUIRE(steps.size() == alone.size());
      CHECK(largest_difference(steps, alone) < 1e-5);
    }
  }
}

TEST_CASE("micro-steps change no loss, with no_sync and without") {
  const auto options = sgd(test::small_gpt_options());
  const auto alone = test::train_on(1, options).steps;
  for (const bool every : {false, true}) {
    auto cut = options;
    cut.accumulate = 3;
    cut.strategy.sync_every_micro_step = every;
    CHECK(largest_difference(test::train_on(2, cut).steps, alone) < 1e-5);
  }
}

TEST_CASE("ranks with unequal shares give one rank's losses") {
  auto options = sgd(test::small_gpt_options());
  options.batch = 11;  // 3 ranks: 4, 4 and 3
  const auto alone = test::train_on(1, options).steps;
  CHECK(alone.back().loss < alone.front().loss);
  for (int ranks = 2; ranks <= 4; ++ranks) {
    CHECK(largest_difference(test::train_on(ranks, options).steps, alone) < 1e-5);
  }
}

}  // namespace
