// kill -9 in the middle of a checkpoint. Afterwards the checkpoints are complete, and a resumed
// training gives the same bits as one that was not killed.
#include <signal.h>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/tools/rondorun/support/process.h"
#include "tests/trainer/losses.h"

namespace {

using namespace rondo::test;

Result trained(const std::string& folder, const std::vector<std::string>& killed) {
  Command command{.words = {rondorun(), "-n", "2", RONDO_KILLED_PATH, folder}};
  command.words.insert(command.words.end(), killed.begin(), killed.end());
  return finish(command);
}

std::string last_line(const std::string& text) { return text.substr(text.rfind("loss ")); }

TEST_CASE("a rank that is killed while it saves leaves the last checkpoint whole") {
  struct Kill {
    std::string rank, point, resumed;
  };
  const std::vector<Kill> kills{
      {"0", "begun", "resumed at 3"},     {"1", "half written", "resumed at 3"},
      {"all", "written", "resumed at 3"}, {"0", "header written", "resumed at 3"},
      {"0", "renamed", "resumed at 6"},   {"0", "pruned", "resumed at 6"},
  };
  const TemporaryFolder scratch;
  const auto whole = trained(scratch / "whole", {});
  REQUIRE(whole.status == 0);
  for (const Kill& kill : kills) {
    INFO(kill.rank << " killed when " << kill.point);
    const std::string folder = scratch / ("killed " + kill.point);
    const auto killed = trained(folder, {kill.rank, kill.point});
    CHECK(killed.status != 0);
    CHECK(killed.output.find("loss") == std::string::npos);
    const auto rest = trained(folder, {});
    INFO(rest.output << rest.error);
    CHECK(rest.status == 0);
    CHECK(rest.output.find(kill.resumed) != std::string::npos);
    CHECK(last_line(rest.output) == last_line(whole.output));
  }
}

std::vector<Loss> logged(const std::string& path) {
  return std::filesystem::exists(path) ? losses_in(read_file(path)) : std::vector<Loss>();
}

/// Whether there is a checkpoint of `step` or later. Later ones replace each checkpoint, on a fast
/// disk sooner than a test looks. So no test waits for one by name.
bool has_checkpoint_since(const std::string& folder, const std::string& step) {
  std::error_code problem;  // a folder may go while it is read
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("step-") && name.size() == step.size() && name >= step) return true;
  }
  return false;
}

TEST_CASE("a run that is killed as a whole, at any time, goes on from its last checkpoint") {
  const TemporaryFolder scratch;
  const std::string log = scratch / "log.csv";
  const std::string folder = scratch / "checkpoints";
  std::istringstream options(
      "--layers 1 --width 8 --heads 1 --block 8 --batch 4 --steps 200000 "
      "--checkpoint-every 5 --resume --validate-every 0 --progress lines");
  std::vector<std::string> words{rondorun(), "-n", "2", RONDO_TRAIN_PATH};
  words.insert(words.end(), std::istream_iterator<std::string>(options), {});
  words.insert(words.end(), {"--checkpoint", folder, "--log", log});
  {
    Process process({.words = words});
    process.wait_until([&] { return has_checkpoint_since(folder, "step-00000010"); },
                       "the second checkpoint");
    for (const pid_t id : process.living()) ::kill(id, SIGKILL);
    process.wait_none_living();
  }
  const auto before = logged(log);
  REQUIRE(before.size() >= 10);
  Process process({.words = words});
  process.wait_for("resumed at step ");
  process.wait_until(
      [&] {
        const auto steps = logged(log);
        return !steps.empty() && steps.back().step > before.back().step;
      },
      "steps behind those that were lost");
  for (const pid_t id : process.living()) ::kill(id, SIGKILL);
  process.wait_none_living();
  const auto steps = logged(log);
  for (std::size_t i = 0; i < steps.size(); ++i) CHECK(steps[i].step == i + 1);
}

}  // namespace
