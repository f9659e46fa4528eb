// rondorun --elastic: ranks that fail do not end the job.
#include <signal.h>

#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/tools/rondorun/support/process.h"

using namespace rondo::test;

namespace {

/// All places where ranks can run, with four ranks.
const std::vector<std::vector<std::string>> placements{
    {"-n", "4", "--elastic"},
    {"--hosts", "localhost:2,localhost:2", "--elastic"},
    {"--hosts", "a:2,b:2", "--ssh", "sh -c 'exec \"$@\"'", "--elastic"},
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void wait_for_error(Process& process, const std::string& text) {
  process.wait_until([&] { return contains(process.error(), text); }, text);
}

}  // namespace

TEST_CASE("an elastic job goes on when ranks are killed, and succeeds if one rank does") {
  for (const auto& placement : placements) {
    INFO(placement[1]);
    Process process(job(placement, {"polite"}));
    process.wait_for("up ", 4);
    for (const int victim : {2, 0}) {
      ::kill(process.rank(victim), SIGKILL);
      wait_for_error(process, "rondorun: rank " + std::to_string(victim) + " (pid " +
                                  std::to_string(process.rank(victim)) + ", host ");
      wait_for_error(process, ") was killed by signal 9 (SIGKILL); " +
                                  std::string(victim == 2 ? "3" : "2") + " ranks are left\n");
    }
    process.signal(SIGUSR1);
    for (const char* rank : {"1", "3"})
      process.wait_for(std::string("rank ") + rank + " got " + std::to_string(SIGUSR1));
    for (const int left : {1, 3}) ::kill(process.rank(left), SIGTERM);
    CHECK(process.wait() == 0);
    process.wait_none_living();
  }
}

TEST_CASE("an elastic job without a rank that succeeds has the first failure's status") {
  for (const auto& placement : placements) {
    INFO(placement[1]);
    Process process(job(placement, {"up"}));
    process.wait_for("up ", 4);
    ::kill(process.rank(3), SIGUSR1);
    wait_for_error(process, "3 ranks are left\n");
    for (const int rank : {0, 1, 2}) ::kill(process.rank(rank), SIGKILL);
    CHECK(process.wait() == 128 + SIGUSR1);
    for (const std::string rank : {"0", "1", "2"})
      CHECK(contains(process.error(), "rondorun: rank " + rank + " (pid "));
    process.wait_none_living();
  }
}

TEST_CASE("an elastic job names every rank that fails after another") {
  Process process(job({"-n", "4", "--elastic"}, {"peers", "2"}));
  process.wait_for("up 2 ");
  ::kill(process.rank(2), SIGKILL);
  CHECK(process.wait() == 137);
  CHECK(contains(process.error(), "was killed by signal 9 (SIGKILL)"));
  for (const std::string rank : {"0", "1", "3"})
    CHECK(contains(process.error(), "rondorun: rank " + rank + " (pid "));
}

TEST_CASE("an elastic job that is interrupted has the signal's status, as others have") {
  Process process(job({"-n", "3", "--elastic"}, {"leave", "7", "1"}));
  process.wait_for("up ", 2);
  wait_for_error(process, "exited with status 7; 2 ranks are left\n");
  process.signal(SIGINT);
  CHECK(process.wait() == 130);
  CHECK(process.living().empty());
}

TEST_CASE("an elastic job goes on without a host that is lost, and names its ranks") {
  Process process(
      job({"--hosts", "a:1,b:2", "--ssh", "sh -c 'exec \"$@\"'", "--elastic"}, {"polite"}));
  process.wait_for("up ", 3);
  // A rank's parent serves; its parent in turn is what ssh would be.
  const std::string stat = read_file("/proc/" + std::to_string(process.rank(1)) + "/stat");
  ::kill(std::atoi(stat.c_str() + stat.rfind(')') + 4), SIGKILL);
  wait_for_error(process, "rondorun: lost host b: ");
  wait_for_error(process, ", and ranks 1, 2 with it; 1 rank is left\n");
  ::kill(process.rank(0), SIGTERM);
  CHECK(process.wait() == 0);
  process.wait_none_living();
}

TEST_CASE("an elastic job still ends where a rank cannot be started") {
  Command command;
  command.words = {rondorun(),  "--hosts",        "a:1,b:1", "--ssh", "sh -c 'exec \"$@\"'",
                   "--elastic", "no-such-program"};
  CHECK(finish(command).status == 127);
  command.words = {rondorun(), "-n", "2", "--elastic", "no-such-program"};
  CHECK(finish(command).status == 127);
}
