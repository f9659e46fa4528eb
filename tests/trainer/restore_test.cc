// Where a training goes on after a failure: from the newest state that the ranks together hold.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/catch.h"
#include "tests/support/files.h"
#include "tests/trainer/elastic_rig.h"
#include "tools/trainer/elastic/held.h"

namespace {

using namespace rondo;
using test::elastic_options;
using test::expect_that;
using test::losses_alone;
using test::must_be;
using train::Held;
using train::Offer;

TEST_CASE("the newest step counts of which the ranks have the whole model") {
  struct Case {
    std::vector<Offer> offers;  // step, elements, ranks
    std::vector<int> chosen;
  };
  for (const Case& row :
       std::vector<Case>{{{}, {}},
                         {{{5, 10}}, {0}},
                         {{{5, 10}, {5, 10}}, {0}},           // of equals the lowest rank gives
                         {{{5, 10}, {6, 10}}, {1}},           // a rank is a step ahead
                         {{{6, 0}, {5, 10}}, {1}},            // it was in the middle of a step
                         {{{0, 0}, {5, 4}, {5, 6}}, {1, 2}},  // shards, and a rank that has joined
                         {{{6, 4}, {5, 10}, {6, 5}}, {1}},  // of the newer step a shard is missing
                         {{{6, 5, 2}, {6, 2, 4}, {6, 3, 4}}, {}},  // nor do those of two partitions
                         {{{6, 5}, {5, 5}}, {}}})                  // shards of two steps make none
    CHECK(train::newest_whole(row.offers, 10) == row.chosen);
}

/// What ranks hold after 4 and 5 steps, and in the middle of the sixth.
struct Stages {
  Held earlier{}, later{}, dirty{};
};
Stages stages_of(const train::Options& options, Communicator& world) {
  std::ostringstream out;
  train::Run run(options, world, out);
  run.start();
  Stages stages;
  const auto pause = [&](std::size_t step) {
    run.train([&] { return run.session().position().step + 1 == step; });
    return train::hold(run);
  };
  stages.earlier = pause(4);
  stages.later = pause(5);
  stages.dirty = stages.later;
  stages.dirty.parts.clear();
  return stages;
}

/// Which stage each of three ranks has, and the step after which all go on; nothing: the training is
/// lost.
struct Row {
  std::string stages;  // 4, 5 or d for dirty, for each rank
  std::optional<std::size_t> step{};
};

/// Goes on from these stages, and returns the step; nothing if it is lost.
std::optional<std::size_t> resumed(const train::Options& options, Communicator& world,
                                   const Stages& stages, const Row& row,
                                   const std::vector<test::Loss>& expected) {
  const char stage = row.stages.at(static_cast<std::size_t>(world.rank()));
  const Held& held = stage == '4' ? stages.earlier : stage == '5' ? stages.later : stages.dirty;
  std::ostringstream out;
  Communicator same = world.dup();
  train::Run run(options, same, out);
  try {
    const auto found = train::restore(run, held, options, same, "died with rank 3", true);
    expect_that(found.from == (row.stages == "444" ? 4U : 5U), "the newest step");
    expect_that(run.train(), "trained to the end");
    run.session().check();
    must_be(run.report(), expected);
    return found.step;
  } catch (const train::AgreedError& error) {
    expect_that(error.message().find("died with rank 3") != std::string::npos, error.message());
    return std::nullopt;
  }
}

TEST_CASE("ranks that are a step apart go on from the newest step that is whole") {
  const auto expected = losses_alone();
  const std::vector<Row> replicated{{"555", 5}, {"455", 5}, {"554", 5}, {"445", 5}, {"d45", 5},
                                    {"dd4", 4}, {"4d4", 4}, {"444", 4}, {"ddd", {}}};
  const std::vector<Row> sharded{{"555", 5}, {"444", 4}, {"455", {}}, {"d55", {}}, {"ddd", {}}};
  for (const auto& strategy : train::strategies()) {
    const auto options = elastic_options(std::string(strategy.name));
    test::with_world(3, {}, [&](Communicator& world) {
      const Stages stages = stages_of(options, world);
      for (const Row& row : strategy.shards_state ? sharded : replicated)
        expect_that(resumed(options, world, stages, row, expected) == row.step,
                    std::string(strategy.name) + " from " + row.stages);
    });
  }
}

TEST_CASE("where no step is whole, the newest checkpoint is") {
  const auto expected = losses_alone();
  for (const auto& strategy : train::strategies()) {
    const test::TemporaryFolder scratch;
    auto options = elastic_options(std::string(strategy.name), scratch / "checkpoints");
    test::with_world(3, {}, [&](Communicator& world) {
      const Stages stages = stages_of(options, world);
      const auto step = resumed(options, world, stages, {"ddd", {}}, expected);
      expect_that(step == 3U, "the checkpoint's step");
    });
  }
}

}  // namespace
