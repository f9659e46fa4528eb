// Several nodes on this one machine: by hand, and through stand-ins for ssh.
#include <signal.h>

#include <algorithm>
#include <sstream>

#include "tests/catch.h"
#include "tests/tools/rondorun/support/process.h"

using namespace rondo::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Drops the host's name and runs the rest here, after printing what login shells print.
const std::string stand_in = "sh -c 'echo Welcome; exec \"$@\"'";

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

TEST_CASE("two rondoruns started by hand make one world") {
  const std::vector<std::string> shown{"environment",      "RANK",       "WORLD_SIZE",
                                       "LOCAL_RANK",       "GROUP_RANK", "GROUP_WORLD_SIZE",
                                       "LOCAL_WORLD_SIZE", "MASTER_ADDR"};
  const auto node = [&](const std::string& number) {
    return finish(job({"-n", "2", "--nnodes", "2", "--node-rank", number, "--master-addr", "here",
                       "--master-port", "29511"},
                      shown));
  };
  const std::string same = " GROUP_WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=here";
  CHECK(sorted_lines(node("0").output) ==
        std::vector<std::string>{"RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 GROUP_RANK=0" + same,
                                 "RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 GROUP_RANK=0" + same});
  CHECK(sorted_lines(node("1").output) ==
        std::vector<std::string>{"RANK=2 WORLD_SIZE=4 LOCAL_RANK=0 GROUP_RANK=1" + same,
                                 "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 GROUP_RANK=1" + same});
}

TEST_CASE("this machine needs no ssh") {
  auto command = job({"--hosts", "localhost:2,localhost:1", "--ssh", "false", "--prefix"},
                     {"environment", "RANK", "LOCAL_RANK", "MASTER_ADDR"});
  const auto result = finish(command);
  INFO(result.error);
  CHECK(result.status == 0);
  CHECK(sorted_lines(result.output) ==
        std::vector<std::string>{"[rank 0] RANK=0 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1",
                                 "[rank 1] RANK=1 LOCAL_RANK=1 MASTER_ADDR=127.0.0.1",
                                 "[rank 2] RANK=2 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1"});
}

TEST_CASE("what a login shell prints does no harm") {
  const auto result = finish(
      job({"--hosts", "a:1,b:1", "--ssh", stand_in}, {"environment", "RANK", "MASTER_ADDR"}));
  CHECK(result.error == "");
  CHECK(sorted_lines(result.output) ==
        std::vector<std::string>{"RANK=0 MASTER_ADDR=a", "RANK=1 MASTER_ADDR=a"});
}

TEST_CASE("the port that hosts share can be listened on") {
  Process process(job({"--hosts", "a:2,b:2", "--ssh", stand_in, "--grace", "60"}, {"peers", "0"}));
  process.wait_for("up 0 ");
  ::kill(process.rank(0), SIGKILL);
  CHECK(process.wait() == 137);
  CHECK(contains(process.error(), "rank 3 lost rank 0"));
  process.wait_none_living();
}

TEST_CASE("a host that cannot be reached is named, and nothing is started elsewhere") {
  const auto result =
      finish(job({"--hosts", "localhost:1,b:1", "--ssh", "sh -c 'echo Go away; exit 5'"}, {"up"}));
  INFO(result.error);
  CHECK(result.status == 1);
  CHECK(result.output == "");
  CHECK(contains(result.error, "cannot reach host b: 'sh' exited with status 5"));
  CHECK(contains(result.error, "after it printed: Go away"));
}

TEST_CASE("a command for ssh that does not exist is named") {
  const auto result = finish(job({"--hosts", "b:1", "--ssh", "no-such-ssh"}, {"up"}));
  INFO(result.error);
  CHECK(result.status == 127);
  CHECK(contains(result.error, "cannot run 'no-such-ssh'"));
}

TEST_CASE("a host that speaks another language is refused") {
  const std::string babble = "sh -c 'echo rondorun speaks 1; echo and then nonsense; sleep 60'";
  const auto result = finish(job({"--hosts", "b:1", "--ssh", babble}, {"up"}));
  INFO(result.error);
  CHECK(result.status == 1);
  CHECK(contains(result.error, "host b: garbled message 'and then nonsense'"));
}

TEST_CASE("a host that tells of ranks and ports that there are not is refused") {
  for (const char* told : {"ready 70000 0 0", "ready -1 0 0", "started 7 1 0", "ended 7 0 0",
                           "ended -1 0 0", "output 7 0 0", "output 0 2 0"}) {
    const std::string babble =
        "sh -c 'echo rondorun speaks 1; echo " + std::string(told) + "; sleep 60'";
    const auto result = finish(job({"--hosts", "b:1", "--ssh", babble}, {"up"}));
    INFO(result.error);
    CHECK(result.status == 1);
    CHECK(contains(result.error,
                   "host b: its rondorun tells of a rank or port that it does not have"));
  }
}

TEST_CASE("a program that one host lacks ends the job with that host's name") {
  Command command;
  command.words = {rondorun(), "--hosts", "a:2,b:2", "--ssh", stand_in, "no-such-program"};
  const auto result = finish(command);
  INFO(result.error);
  CHECK(result.status == 127);
  const std::string reason = ": cannot run 'no-such-program'";  // from whichever says it first
  CHECK((contains(result.error, "rondorun: host a" + reason) ||
         contains(result.error, "rondorun: host b" + reason)));
}

TEST_CASE("a lost connection ends the job on both sides") {
  Process process(job({"--hosts", "a:1,b:1", "--ssh", stand_in}, {"stubborn"}));
  process.wait_for("up ", 2);
  // A rank's parent serves; its parent in turn is what ssh would be.
  const std::string id = std::to_string(process.rank(1));
  const std::string stat = read_file("/proc/" + id + "/stat");
  const pid_t serving = std::atoi(stat.c_str() + stat.rfind(')') + 4);
  ::kill(serving, SIGKILL);
  CHECK(process.wait() == 1);
  CHECK(contains(process.error(), "rondorun: lost host b: "));
  process.wait_none_living();
}
