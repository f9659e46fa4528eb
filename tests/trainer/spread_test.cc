// AdamW over 200 steps. How far apart are runs that differ only in the order of summation? More
// ranks and other strategies must not be farther apart.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/trainer/rig.h"

namespace {

using namespace rondo::train;

constexpr std::size_t steps = 200;

TEST_CASE("AdamW's losses are one rank's, up to the order of summation") {
  Setup setup{.optimizer = {.kind = "adamw"}, .rate = 0.003, .clip = 1};
  setup.strategy.bucket_bytes = 2000;
  const auto alone = losses_of(1, setup, steps);
  CHECK(alone.back() < 0.8 * alone.front());
  std::vector<double> spread;
  for (std::uint64_t order = 1; order <= 8; ++order) {
    Setup permuted = setup;
    permuted.order = order;
    spread.push_back(largest_difference(losses_of(1, permuted, steps), alone));
  }
  std::sort(spread.begin(), spread.end());
  std::printf("one rank, eight orders of summation: %.2g to %.2g, median %.2g\n", spread.front(),
              spread.back(), spread[spread.size() / 2]);
  CHECK(spread.front() > 0);
  for (const StrategyInfo& row : strategies()) {
    for (int ranks = 2; ranks <= 4; ++ranks) {
      setup.strategy.kind = row.name;
      const double difference = largest_difference(losses_of(ranks, setup, steps), alone);
      std::printf("%s on %d: %.2g\n", setup.strategy.kind.c_str(), ranks, difference);
      CHECK(difference <= 2 * spread.back());  // eight orders are a sample of the spread
    }
  }
}

}  // namespace
