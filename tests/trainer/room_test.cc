// The memory of a training is planned: never less than it takes, and hardly more.
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/trainer/train.h"
#include "tools/trainer/session.h"

namespace {

using namespace rondo;
using namespace rondo::train;

train::Options small(const std::string& strategy, Precision precision) {
  auto options = test::small_gpt_options();
  options.model.layers = 4;
  options.strategy.kind = strategy;
  options.strategy.precision = options.strategy.wire = precision;
  options.steps = 2;
  return options;
}

/// The planned memory divided by the peak in the ledger.
void check_plan(Communicator& world, train::Options options) {
  Session session(options, world);
  for (std::size_t step = 0; step < options.steps; ++step) session.step();
  session.validate(50);
  session.check();
  const auto taken = static_cast<double>(session.memory().peak());
  const auto planned = static_cast<double>(session.plan().total());
  test::expect_that(
      planned >= taken && planned <= 1.25 * taken,
      std::to_string(planned) + " bytes planned, " + std::to_string(taken) + " taken");
}

TEST_CASE("a plan covers the peak of every strategy and type, and little more") {
  for (const StrategyInfo& row : strategies()) {
    for (const auto precision : {Precision::float32, Precision::bf16}) {
      for (const int ranks : {1, 3}) {
        INFO(row.name << " " << info(precision).name << " on " << ranks);
        const auto options = small(std::string(row.name), precision);
        test::with_world(ranks, {}, [&](Communicator& world) { check_plan(world, options); });
      }
    }
  }
}

TEST_CASE(
    "a process that may not map what a training takes is told before OpenBLAS asks for ever") {
  constexpr rlim_t spare = 64U << 20;  // less than the buffer of one thread
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  CHECK_NOTHROW(require_within({.later = spare}, {}));
  const rlimit narrow{pages * static_cast<rlim_t>(::getpagesize()) + spare, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &narrow) == 0);
  std::string words;
  try {
    require_within({.later = 1U << 20}, {});
  } catch (const Error& error) {
    words = error.what();
  }
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  CHECK_THAT(words,
             Catch::Contains("OpenBLAS 128 MiB of addresses") && Catch::Contains("ulimit -v"));
}

/// Whose memory has a number of its own, and room for one rank.
class Small final : public Machine {
 public:
  explicit Small(std::uint64_t place) : place_(place) {}
  CommonMemory common_memory() const override { return {place_, 1U << 20}; }

 private:
  std::uint64_t place_;
};

TEST_CASE("ranks of one place share what is free there; others have their own") {
  const auto refusal = [](const std::vector<std::uint64_t>& places) {
    return test::refusal(static_cast<int>(places.size()), [&](Communicator& world) {
      const Small machine(places[static_cast<std::size_t>(world.rank())]);
      require_room(world, {.later = 1U << 20, .parameters = 7}, machine);
    });
  };
  CHECK(refusal({1, 2, 3}).empty());
  CHECK_THAT(refusal({5, 1, 1}),
             Catch::Contains("2 MiB for 2 ranks on the machine of rank 1, and 1 MiB are free"));
}

TEST_CASE("a model that fits into no machine is refused before anything of it is taken") {
  auto options = test::small_gpt_options();
  options.model.width = 1U << 16;
  options.model.layers = 1000;
  CHECK_THAT(test::refusal(2, options), Catch::Contains("are free there"));
}

}  // namespace
