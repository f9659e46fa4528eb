// Ranks die and others join: the losses stay those of one rank, whatever the strategy.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/support/files.h"
#include "tests/trainer/elastic_rig.h"

namespace {

using namespace rondo;
using test::elastic_options;

constexpr std::size_t first_death = 7;
constexpr std::size_t second_death = 13;

/// As a log has them.
std::string losses_text(const std::vector<train::StepRecord>& steps) {
  std::ostringstream text;
  text.precision(12);
  text << "step,loss\n";
  for (const auto& step : steps) text << step.step << "," << step.loss << "\n";
  return text.str();
}

/// In a process of its own: this one forks, so it has no threads.
std::vector<test::Loss> losses_of_one_rank() {
  test::Child alone([] {
    auto options = elastic_options("ddp");
    options.elastic = false;
    return losses_text(test::train_on(1, options).steps);
  });
  return test::losses_in(alone.report());
}

/// The rank `victim` is killed before the step behind `death`, once.
train::StepHook killed_at(int rank, std::pair<int, std::size_t> first,
                          std::pair<int, std::size_t> second) {
  return [=](std::size_t step) {
    for (const auto& [victim, death] : {first, second})
      if (rank == victim && step == death) ::kill(::getpid(), SIGKILL);
  };
}

constexpr const char* between = "---\n";
std::vector<test::Loss> losses_before(const std::string& report) {
  return test::losses_in(report.substr(0, report.find(between)));
}

/// What four processes report of which two are killed: the survivors' steps, and their output.
std::vector<std::string> reports_of(const train::Options& options, const std::string& transport,
                                    std::pair<int, int> victims) {
  return test::reports_of(4, transport, [&](Communicator& world) {
    std::ostringstream out;
    const auto hook =
        killed_at(world.rank(), {victims.first, first_death}, {victims.second, second_death});
    try {
      const std::string losses = losses_text(train::run(options, world, out, hook));
      return losses + between + out.str();
    } catch (const train::AgreedError& error) {
      return std::string(error.what());
    }
  });
}

TEST_CASE("the losses of four ranks of which two are killed are those of one rank") {
  const auto expected = losses_of_one_rank();
  REQUIRE(expected.size() == 20);
  const auto victims = GENERATE(std::pair{1, 3}, std::pair{3, 2}, std::pair{0, 1}, std::pair{2, 0});
  const std::string transport = GENERATE("shm", "tcp");
  for (const auto& strategy : train::strategies()) {
    INFO(strategy.name << " over " << transport << " without " << victims.first << ", then "
                       << victims.second);
    const test::TemporaryFolder scratch;
    const bool shards = strategy.name != "ddp";
    auto options =
        elastic_options(std::string(strategy.name), shards ? scratch / "checkpoints" : "");
    options.log = scratch / "log.csv";
    const auto reports = reports_of(options, transport, victims);
    for (int rank = 0; rank < 4; ++rank) {
      const std::string& report = reports[static_cast<std::size_t>(rank)];
      if (rank == victims.first || rank == victims.second) {
        CHECK(report == "");
        continue;
      }
      CHECK(test::difference(losses_before(report), expected) == "");
    }
    // The lowest rank that lives speaks. What it said is lost where it was killed later.
    const auto lowest_but = [](std::initializer_list<int> dead) {
      int rank = 0;
      while (std::ranges::count(dead, rank) > 0) ++rank;
      return static_cast<std::size_t>(rank);
    };
    const std::string& first = reports[lowest_but({victims.first})];
    const std::string& second = reports[lowest_but({victims.first, victims.second})];
    INFO(first << second);
    // The survivors may not have heard all that the victim said of its last step.
    CHECK_THAT(second, Catch::Contains(shards ? "2 ranks go on from step 12 after"
                                              : "2 ranks go on from step "));
    if (!first.empty()) {
      CHECK_THAT(first, Catch::Contains("rank " + std::to_string(victims.first) + " of 4 died ("));
      CHECK_THAT(first, Catch::Contains(shards ? "3 ranks go on from step 6 after"
                                               : "3 ranks go on from step "));
    }
    CHECK(test::difference(test::losses_in(test::read_file(options.log)), expected) == "");
  }
}

TEST_CASE("without a checkpoint the state of a sharded training dies with a rank") {
  for (const auto& strategy : train::strategies()) {
    if (strategy.name == "ddp") continue;
    const auto reports = reports_of(elastic_options(std::string(strategy.name), ""), "shm", {2, 1});
    CHECK(reports[2] == "");
    for (const int rank : {0, 1, 3})
      CHECK(reports[static_cast<std::size_t>(rank)] ==
            "rondo: the state of the training died with rank 2: no rank has it all, and there is "
            "no checkpoint. Try: --checkpoint DIR, or --strategy ddp, with which every rank holds "
            "everything");
  }
}

TEST_CASE("a sharded training that has no checkpoint yet begins again") {
  const auto expected = losses_of_one_rank();
  REQUIRE(expected.size() == 20);
  const test::TemporaryFolder scratch;
  auto options = elastic_options("zero3", scratch / "checkpoints");
  options.checkpoint.every = 50;
  const auto reports = reports_of(options, "shm", {1, 3});
  INFO(reports[0]);
  CHECK_THAT(reports[0], Catch::Contains(" to step 0; 3 ranks go on from step 0 after"));
  CHECK(test::difference(losses_before(reports[0]), expected) == "");
}

}  // namespace
