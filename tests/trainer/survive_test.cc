// tools/trainer/survive as a user starts it: two kills in one run, and the losses of an undisturbed one.
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/tools/rondorun/support/process.h"

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

struct Row {
  int step = 0;
  double loss = 0;
};

std::vector<Row> rows_of(const std::string& log) {
  std::istringstream lines(read_file(log));
  std::vector<Row> rows;
  std::string line;
  std::getline(lines, line);  // names of columns
  while (std::getline(lines, line)) {
    Row row;
    char comma = ' ';
    std::istringstream(line) >> row.step >> comma >> row.loss;
    rows.push_back(row);
  }
  return rows;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a training survives two kills, and its losses are those of an undisturbed one") {
  const TemporaryFolder scratch;
  const auto calm = survive({"--kill="}, training("ddp", scratch / "calm.csv"));
  INFO(calm.output << calm.error);
  REQUIRE(calm.status == 0);
  const auto expected = rows_of(scratch / "calm.csv");
  REQUIRE(expected.size() == 200);
  for (const std::string transport : {"shm", "tcp"}) {
    for (const std::string strategy : {"ddp", "zero3"}) {
      const auto ended =
          survive({"--transport", transport}, training(strategy, scratch / "disturbed.csv"));
      INFO(strategy << " over " << transport << "\n" << ended.output << ended.error);
      CHECK(ended.status == 0);
      CHECK(contains(ended.output, "--- step 70: kill -9 of rank 2, process "));
      CHECK(contains(ended.output, "; 3 ranks go on from step "));
      CHECK(contains(ended.output, "--- step 140: kill -9 of rank 0, process "));
      CHECK(contains(ended.output, "; 2 ranks go on from step "));
      CHECK(contains(ended.output, "step 200/200"));
      CHECK(contains(ended.error, "was killed by signal 9 (SIGKILL); 2 ranks are left\n"));
      const auto rows = rows_of(scratch / "disturbed.csv");
      REQUIRE(rows.size() == expected.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(rows[i].step == expected[i].step);
        CHECK(std::fabs(rows[i].loss - expected[i].loss) < 1e-5 * expected[i].loss);
      }
    }
  }
}

TEST_CASE("mistakes of who is to be killed are refused") {
  for (const char* ranks : {"4", "1,1", "0,1,2,3", "x"}) {
    const auto refused = survive({"--kill", ranks}, {});
    CHECK(refused.status == 2);
    CHECK(contains(refused.error, "--kill"));
  }
}

}  // namespace
