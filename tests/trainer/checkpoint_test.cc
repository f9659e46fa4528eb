// Checkpoints: resumed trainings give the same bits, also on other ranks and strategies. Damaged
// and foreign checkpoints are refused on every rank.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/support/files.h"
#include "tests/trainer/train.h"

namespace {

using namespace rondo;
using test::Trained;

train::Options saving_to(const std::string& folder, const std::string& strategy) {
  auto options = test::small_gpt_options();
  options.steps = options.rate.steps = 9;
  options.check_every = 3;
  options.strategy.kind = strategy;
  options.checkpoint.folder = folder;
  options.checkpoint.every = 3;
  return options;
}

train::Options resuming(train::Options options) {
  options.checkpoint.resume = true;
  return options;
}

/// The last three losses.
std::vector<test::Loss> last_losses(const Trained& trained) {
  REQUIRE(trained.steps.size() >= 3);
  return test::losses_of(std::vector(trained.steps.end() - 3, trained.steps.end()));
}

void forget_newest(const std::string& folder) {
  std::filesystem::remove_all(folder + "/step-00000009");
}

TEST_CASE("a training goes on to the same bits on as many ranks") {
  for (const auto& row : train::strategies()) {
    for (const auto precision : {train::Precision::float32, train::Precision::fp16}) {
      const test::TemporaryFolder scratch;
      const std::string folder = scratch / "checkpoints";
      auto options = saving_to(folder, std::string(row.name));
      options.strategy.precision = options.strategy.wire = precision;
      options.accumulate = 2;
      const int ranks = precision == train::Precision::fp16 ? 2 : 3;
      INFO(row.name << " on " << ranks << " ranks");
      const auto whole = test::train_on(ranks, options);
      forget_newest(folder);
      const auto rest = test::train_on(ranks, resuming(options));
      CHECK(rest.steps.front().step == 7);
      CHECK(last_losses(rest) == last_losses(whole));
    }
  }
}

TEST_CASE("and correctly on any number of ranks, with any strategy") {
  const test::TemporaryFolder scratch;
  const std::string folder = scratch / "checkpoints";
  const auto options = saving_to(folder, "zero3");
  const auto expected = last_losses(test::train_on(3, options));
  for (const auto& row : train::strategies()) {
    for (const int ranks : {1, 2, 4}) {
      forget_newest(folder);
      auto other = resuming(options);
      other.strategy.kind = row.name;
      CHECK(test::difference(last_losses(test::train_on(ranks, other)), expected) == "");
    }
  }
}

TEST_CASE("only the newest checkpoints are kept, and nothing unfinished") {
  const test::TemporaryFolder scratch;
  const std::string folder = scratch / "checkpoints";
  auto options = saving_to(folder, "zero1");
  options.checkpoint.every = 1;
  options.checkpoint.keep = 3;
  std::filesystem::create_directories(folder + "/step-00000777.unfinished");
  test::train_on(2, options);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"step-00000007", "step-00000008", "step-00000009"});
}

TEST_CASE("a checkpoint of another training is refused on every rank") {
  const test::TemporaryFolder scratch;
  const std::string folder = scratch / "checkpoints";
  const auto options = saving_to(folder, "zero2");
  test::train_on(2, options);
  CHECK_THAT(test::refusal(2, options), Catch::Contains("holds a checkpoint of step 9"));
  using O = train::Options;
  for (const auto& [change, words] : std::vector<std::pair<void (*)(O&), std::string>>{
           {[](O& o) { o.model.width = 16; },
            "token.table is 37 x 16 here, in the checkpoint 37 x 32"},
           {[](O& o) { o.model.layers = 3; },
            "block3.norm1.gain is 32 here, in the checkpoint nothing"},
           {[](O& o) { o.model.layers = 1; }, "block2.norm1.gain is 32 there, and here nothing"},
           {[](O& o) { o.optimizer.kind = "sgd"; },
            "optimizer is sgd here, in the checkpoint adamw"},
           {[](O& o) { o.batch = 24; }, "batch is 24 here, in the checkpoint 12"},
           {[](O& o) { o.checkpoint.folder = "/proc/none"; }, "the checkpoint folder /proc/none"},
           {[](O& o) { o.strategy = {.kind = "ddp", .top_k = 0.1}; },
            "--checkpoint without --compress"}}) {
    auto other = resuming(options);
    change(other);
    CHECK_THAT(test::refusal(2, other), Catch::Contains(words));
  }
}

void change_byte(const std::string& path, std::streamoff place) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(place);
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(place);
  file.put(byte);
  REQUIRE(file.good());
}

TEST_CASE("a damaged checkpoint is refused on every rank, by the file's name") {
  const test::TemporaryFolder scratch;
  const std::string folder = scratch / "checkpoints";
  const auto options = saving_to(folder, "zero1");
  const auto whole = test::train_on(2, options);
  const std::string newest = folder + "/step-00000009";
  const auto refused = [&](const std::string& part) {
    CHECK_THAT(test::refusal(3, resuming(options)), Catch::Contains(part));
    std::filesystem::remove_all(newest);
    test::train_on(2, resuming(options));
  };
  change_byte(newest, 20'000);
  refused(newest + " is damaged: it is not as it was written");
  change_byte(newest, 3);  // of the digest
  refused(newest + " is damaged: it is not as it was written");
  change_byte(newest, 1000);  // of the header
  refused(newest + " is damaged: it");
  std::filesystem::resize_file(newest, 10'000);
  refused(newest + " is damaged: it has 10000 bytes where ");
  std::filesystem::resize_file(newest, 100);
  refused("it is cut off");
  std::filesystem::resize_file(newest, 0);
  refused("it is cut off");
  test::write_file(newest, std::string(10'000, 'x'));
  refused("or is none");

  change_byte(newest, 20'000);
  auto older = resuming(options);
  older.checkpoint.older = true;
  older.progress = "lines";
  const auto rest = test::train_on(2, older);
  CHECK_THAT(rest.text, Catch::Contains("set aside: the checkpoint " + newest + " is damaged"));
  CHECK_THAT(rest.text, Catch::Contains("resumed at step 6, saved by zero1 on 2 ranks"));
  CHECK(last_losses(rest) == last_losses(whole));
  CHECK(std::filesystem::exists(newest + ".broken"));
}

}  // namespace
