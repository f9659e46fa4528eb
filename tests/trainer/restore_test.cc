// Where a training goes on after a failure: from the newest state that the ranks together hold.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include "tests/catch.h"
#include "tests/support/setting.h"
#include "tests/tools/rondorun/support/process.h"
#include "tests/trainer/elastic_rig.h"
#include "tools/trainer/elastic/elastic.h"

namespace {

using namespace rondo;
using test::elastic_options;
using test::losses_alone;
using test::must;
using test::must_be;
using train::Held;
using train::Offer;

TEST_CASE("the newest step counts of which the ranks have the whole model") {
  struct Case {
    std::vector<Offer> offers;  // step, rank, begin, end
    std::vector<Offer> chosen;
  };
  const std::vector<Case> cases{
      {{}, {}},
      {{{5, 0, 0, 10}}, {{5, 0, 0, 10}}},
      // Of equals the lowest rank gives.
      {{{5, 0, 0, 10}, {5, 1, 0, 10}}, {{5, 0, 0, 10}}},
      // A rank is a step ahead.
      {{{5, 0, 0, 10}, {6, 1, 0, 10}}, {{6, 1, 0, 10}}},
      // Shards, in any order.
      {{{5, 0, 6, 10}, {5, 1, 0, 6}}, {{5, 1, 0, 6}, {5, 0, 6, 10}}},
      // Of the newer step a shard is missing: at the end, in the middle, at the beginning.
      {{{6, 0, 0, 9}, {5, 1, 0, 10}}, {{5, 1, 0, 10}}},
      {{{6, 0, 0, 4}, {6, 2, 5, 10}, {5, 1, 0, 10}}, {{5, 1, 0, 10}}},
      {{{6, 0, 1, 10}}, {}},
      // Shards that overlap, as those of different numbers of ranks.
      {{{6, 0, 0, 5}, {6, 1, 3, 7}, {6, 2, 4, 6}, {6, 2, 6, 10}},
       {{6, 0, 0, 5}, {6, 1, 5, 7}, {6, 2, 7, 10}}},
      // Shards of two steps make none.
      {{{6, 0, 0, 5}, {5, 1, 5, 10}}, {}},
  };
  for (const Case& row : cases) CHECK(train::newest_whole(row.offers, 10) == row.chosen);
}

/// What ranks hold after 4 and 5 steps, and in the middle of the sixth.
struct Stages {
  Held earlier{}, later{}, dirty{};
};
Stages stages_of(const train::Options& options, Communicator& world) {
  std::ostringstream out;
  train::Run run(options, world, out, 0);
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
  train::Run run(options, same, out, 0);
  try {
    const auto found = train::restore(run, held, options, same, "died with rank 3", true);
    must(found.from == (row.stages == "444" ? 4U : 5U), "the newest step");
    must(run.train(), "trained to the end");
    run.session().check();
    must_be(run.report(), expected);
    return found.step;
  } catch (const train::AgreedError& error) {
    must(error.message().find("died with rank 3") != std::string::npos, error.message());
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
        must(resumed(options, world, stages, row, expected) == row.step,
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
      must(step == 3U, "the checkpoint's step");
    });
  }
}

/// Runs an elastic training on threads. A rank that `leaves` throws: it ends, as if it had died.
struct Left : std::runtime_error {
  Left() : std::runtime_error("it leaves") {}
};
void run_on_threads(int ranks, const train::Options& options, std::string& said,
                    const std::function<bool(int rank, std::size_t step)>& leaves,
                    const std::vector<test::Loss>& expected) {
  std::vector<Communicator> worlds = Communicator::from_threads(ranks);
  std::vector<std::ostringstream> outs(static_cast<std::size_t>(ranks));
  test::on_all_ranks(ranks, [&](int rank) {
    Communicator& world = worlds[static_cast<std::size_t>(rank)];
    try {
      train::Elastic elastic(options, world, outs[static_cast<std::size_t>(rank)], 0,
                             [&](std::size_t step) {
                               if (leaves(rank, step)) throw Left();
                             });
      must_be(elastic.run(), expected);
    } catch (const Left&) {
      world.abort("it leaves");
      world = Communicator();
    }
  });
  for (const auto& out : outs) said += out.str();
}

TEST_CASE("whichever rank leaves, the first one too, the others go on, and so does the log") {
  const auto expected = losses_alone();
  const auto leavers = GENERATE(std::pair{0, 1}, std::pair{0, 3}, std::pair{2, 0}, std::pair{3, 2});
  for (const auto& strategy : train::strategies()) {
    for (const std::string ending : {"csv", "json"}) {
      const test::TemporaryFolder scratch;
      auto options = elastic_options(std::string(strategy.name), scratch / "checkpoints");
      options.progress = "lines";
      options.log = scratch / ("log." + ending);
      std::string said;
      run_on_threads(
          4, options, said,
          [&](int rank, std::size_t step) {
            return (rank == leavers.first && step == 7) || (rank == leavers.second && step == 13);
          },
          expected);
      INFO(strategy.name << "\n" << said);
      CHECK_THAT(said, Catch::Contains("rank " + std::to_string(leavers.first) + " of 4 died"));
      CHECK_THAT(said, Catch::Contains("2 ranks go on from step"));
      const std::string log = test::read_file(options.log);
      const std::string row = ending == "csv" ? "\n20," : "{\"step\":20,";
      CHECK(std::ranges::count(log, '\n') ==
            (ending == "csv" ? 21 : std::ranges::count(log, '\n')));
      CHECK(log.find(row) != std::string::npos);
      CHECK(log.find(row) == log.rfind(row));
    }
  }
}

}  // namespace
