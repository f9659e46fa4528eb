// kill -9 in the middle of a checkpoint. Afterwards the checkpoints are complete, and a resumed
// training gives the same bits as one that was not killed.
#include <signal.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/support/files.h"
#include "tests/trainer/elastic_rig.h"
#include "tools/trainer/session.h"

namespace {

using namespace rondo::test;

/// What the ranks say of nine steps with a checkpoint after each third. Those that `dies` names are
/// killed at this stage (checkpoints.cc) of the second one.
std::vector<std::string> trained(const std::string& folder, const std::string& dies = "",
                                 const std::string& stage = "") {
  auto options = small_gpt_options();
  options.strategy.kind = "zero1";
  options.checkpoint = {.folder = folder, .keep = 1, .resume = true};
  return rondo::test::reports_of(2, "", [&](rondo::Communicator& world) {
    rondo::train::Session session(options, world);
    int saves = 0;
    auto checkpoints = session.checkpoints([&](const std::string& point) {
      if (point == "begun") ++saves;
      const bool dying = dies.find(std::to_string(world.rank())) != std::string::npos;
      if (dying && saves == 2 && point == stage) ::raise(SIGKILL);
    });
    std::ostringstream said;
    checkpoints.start();
    if (session.position().step > 0) said << "resumed at " << session.position().step << ", ";
    double loss = 0;
    while (session.position().step < 9) {
      loss = session.step().loss;
      if (session.position().step % 3 == 0) checkpoints.save();
    }
    world.finalize();
    said.precision(17);
    said << "loss " << loss;
    return said.str();
  });
}

TEST_CASE("a rank that is killed while it saves leaves the last checkpoint whole") {
  struct Kill {
    std::string ranks, stage, resumed;
  };
  const TemporaryFolder scratch;
  const std::string whole = trained(scratch / "whole")[0];
  REQUIRE_THAT(whole, Catch::StartsWith("loss "));
  for (const auto& [ranks, stage, resumed] :
       std::vector<Kill>{{"0", "begun", "resumed at 3, "},
                         {"1", "half written", "resumed at 3, "},
                         {"01", "written", "resumed at 3, "},
                         {"0", "header written", "resumed at 3, "},
                         {"0", "renamed", "resumed at 6, "},
                         {"0", "pruned", "resumed at 6, "}}) {
    INFO(ranks << " killed when " << stage);
    const std::string folder = scratch / ("killed " + stage);
    for (const std::string& said : trained(folder, ranks, stage))
      CHECK_THAT(said, !Catch::Contains("loss "));
    CHECK(trained(folder)[0] == resumed + whole);
  }
}

}  // namespace
