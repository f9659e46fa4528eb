// tools/trainer/survive as a user starts it: two kills in one run, and the losses of an undisturbed one.
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/tools/rondorun/support/process.h"
#include "tests/trainer/losses.h"

namespace {

using namespace rondo::test;
using Words = std::vector<std::string>;

const std::string programs =
    std::string(RONDO_TRAIN_PATH).substr(0, std::string(RONDO_TRAIN_PATH).rfind('/'));

/// Long enough for a kill in the middle, and short enough for rounding to stay small.
Words training(const std::string& strategy, const std::string& log) {
  return {"--", "--strategy",       strategy, "--log",   log, "--formulas", "none", "--layers",
          "2",  "--width",          "64",     "--heads", "2", "--block",    "32",   "--batch",
          "12", "--validate-every", "0"};
}

Result survive(const Words& options, const Words& train) {
  Command command{.words = {RONDO_SURVIVE_PATH, "--bin", programs, "--steps", "200"}};
  command.words.insert(command.words.end(), options.begin(), options.end());
  command.words.insert(command.words.end(), train.begin(), train.end());
  return finish(command);
}

TEST_CASE("a training survives two kills, and its losses are those of an undisturbed one") {
  const TemporaryFolder scratch;
  const auto calm = survive({"--kill="}, training("ddp", scratch / "calm.csv"));
  INFO(calm.output << calm.error);
  REQUIRE(calm.status == 0);
  const auto expected = losses_in(read_file(scratch / "calm.csv"));
  REQUIRE(expected.size() == 200);
  for (const std::string transport : {"shm", "tcp"}) {
    for (const std::string strategy : {"ddp", "zero3"}) {
      const auto ended =
          survive({"--transport", transport}, training(strategy, scratch / "disturbed.csv"));
      INFO(strategy << " over " << transport << "\n" << ended.output << ended.error);
      CHECK(ended.status == 0);
      CHECK_THAT(ended.output, Catch::Contains("--- step 70: kill -9 of rank 2, process "));
      CHECK_THAT(ended.output, Catch::Contains("; 3 ranks go on from step "));
      CHECK_THAT(ended.output, Catch::Contains("--- step 140: kill -9 of rank 0, process "));
      CHECK_THAT(ended.output, Catch::Contains("; 2 ranks go on from step "));
      CHECK_THAT(ended.output, Catch::Contains("step 200/200"));
      CHECK_THAT(ended.error,
                 Catch::Contains("was killed by signal 9 (SIGKILL); 2 ranks are left\n"));
      CHECK(difference(losses_in(read_file(scratch / "disturbed.csv")), expected) == "");
    }
  }
}

TEST_CASE("mistakes of who is to be killed are refused") {
  for (const char* ranks : {"4", "1,1", "0,1,2,3", "x"}) {
    const auto refused = survive({"--kill", ranks}, {});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, Catch::Contains("--kill"));
  }
}

}  // namespace
