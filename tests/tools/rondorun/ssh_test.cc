// --hosts over a real sshd on this machine: whatever works here has been through ssh.
//
// Without sshd nothing can be checked: the program says so and exits with `skipped`, which ctest
// shows as a skipped test.
#define CATCH_CONFIG_RUNNER
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/catch.h"
#include "tests/tools/rondorun/support/ssh_server.h"

using namespace rondo::test;

namespace {

constexpr int skipped = 77;

SshServer& server() {
  static SshServer one;
  return one;
}

std::vector<std::string> hosts(const std::string& list, std::vector<std::string> more = {}) {
  std::vector<std::string> options{"--hosts", list, "--ssh", server().command()};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// Waits until nothing is left on either side.
void wait_nothing_left(Process& process) {
  process.wait_until([&] { return process.living().empty() && server().living().empty(); },
                     "the end of all processes, remote ones too");
}

}  // namespace

TEST_CASE("ranks of several hosts share a world; the right variables travel") {
  auto command = job(hosts("127.0.0.1:2,127.0.0.1:1", {"--env", "MINE=a 'b' \"c\" $d\n;e"}),
                     {"environment", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                      "GROUP_RANK", "MASTER_ADDR", "RONDO_ONE", "NCCL_TWO", "OTHER", "MINE"});
  command.environment = {"RONDO_ONE=1", "NCCL_TWO=2", "OTHER=3"};
  Process process(command);
  CHECK(process.wait() == 0);
  CHECK(process.error() == "");
  const std::string rest =
      " MASTER_ADDR=127.0.0.1 RONDO_ONE=1 NCCL_TWO=2 OTHER=(unset) MINE=a 'b' \"c\" $d";
  auto expected = std::vector<std::string>{
      "RANK=0 WORLD_SIZE=3 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 GROUP_RANK=0" + rest,
      "RANK=1 WORLD_SIZE=3 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 GROUP_RANK=0" + rest,
      "RANK=2 WORLD_SIZE=3 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 GROUP_RANK=1" + rest,
      ";e",
      ";e",
      ";e"};
  std::sort(expected.begin(), expected.end());
  CHECK(sorted_lines(process.output()) == expected);
  wait_nothing_left(process);
}

TEST_CASE("arguments and the working directory arrive as they are") {
  const TemporaryFolder folder;
  const std::string directory = folder / "it's a \"folder\"";
  std::filesystem::create_directory(directory);
  auto command = job(hosts("127.0.0.1:1"), {"arguments", "a b", "", "$HOME", "'", "\"", "*", "\\"});
  command.directory = directory;
  CHECK(finish(command).output == "[a b]\n[]\n[$HOME]\n[']\n[\"]\n[*]\n[\\]\n" + directory + "\n");
}

TEST_CASE("output arrives whole, on its own stream, with its rank") {
  const auto result =
      finish(job(hosts("127.0.0.1:2,127.0.0.1:2", {"--prefix"}), {"flood", "3000"}));
  INFO(result.error);
  CHECK(result.status == 0);
  for (const std::string& text : {result.output, result.error}) {
    std::map<std::string, int> lines;
    int wrong = 0;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      const std::string head = line.substr(0, 9);
      const int number = lines[head]++;
      const std::string x(static_cast<std::size_t>(number % 97), 'x');
      wrong += line != head + head.substr(6, 1) + " " + std::to_string(number) + " " + x + ".";
    }
    CHECK(wrong == 0);
    CHECK(lines ==
          std::map<std::string, int>{
              {"[rank 0] ", 3000}, {"[rank 1] ", 3000}, {"[rank 2] ", 3000}, {"[rank 3] ", 3000}});
  }
}

TEST_CASE("a killed remote rank ends the job on every host") {
  const bool in_time = one_in_time([] {
    Process process(job(hosts("127.0.0.1:2,127.0.0.1:2"), {"stubborn"}));
    process.wait_for("up ", 4);
    const auto begin = process.waited();
    ::kill(process.rank(2), SIGKILL);
    CHECK(process.wait() == 137);
    const auto taken = process.waited() - begin;
    CHECK(contains(process.error(), "rondorun: rank 2 (pid " + std::to_string(process.rank(2)) +
                                        ", host 127.0.0.1) was killed by signal 9 (SIGKILL); "
                                        "ending the others\n"));
    wait_nothing_left(process);
    return taken;
  });
  CHECK(in_time);
}

TEST_CASE("a remote rank's status is the job's") {
  const auto result = finish(job(hosts("127.0.0.1:1,127.0.0.1:1"), {"leave", "7", "1"}));
  INFO(result.error);
  CHECK(result.status == 7);
  CHECK(contains(result.error, "host 127.0.0.1) exited with status 7; ending the others"));
}

TEST_CASE("remote ranks can meet at the port that was chosen") {
  Process process(job(hosts("127.0.0.1:2,127.0.0.1:1"), {"peers", "0"}));
  process.wait_for("up 0 ");
  process.signal(SIGTERM);
  process.wait();
  wait_nothing_left(process);
}

TEST_CASE("signals reach remote ranks") {
  Process process(job(hosts("127.0.0.1:1,127.0.0.1:1"), {"polite"}));
  process.wait_for("up ", 2);
  process.signal(SIGUSR1);
  process.wait_for(" got " + std::to_string(SIGUSR1), 2);
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(contains(process.output(), "rank 0 got " + std::to_string(SIGTERM)));
  CHECK(contains(process.output(), "rank 1 got " + std::to_string(SIGTERM)));
  wait_nothing_left(process);
}

TEST_CASE("when the local rondorun is killed nothing is left on other hosts") {
  Process process(job(hosts("127.0.0.1:1,127.0.0.1:1"), {"daemon", "stay"}));
  process.wait_for("up ", 2);
  process.signal(SIGKILL);
  wait_nothing_left(process);
}

TEST_CASE("when ssh is killed the job ends on both sides") {
  Process process(job(hosts("127.0.0.1:1,127.0.0.1:1"), {"stubborn"}));
  process.wait_for("up ", 2);
  // The local side consists of the front, the supervisor and one ssh per host.
  pid_t one_ssh = -1;
  for (const pid_t local : process.living())
    if (read_file("/proc/" + std::to_string(local) + "/comm") == "ssh\n") one_ssh = local;
  REQUIRE(one_ssh > 0);
  ::kill(one_ssh, SIGKILL);
  CHECK(process.wait() == 1);
  CHECK(contains(process.error(), "lost host 127.0.0.1: 'ssh' was killed by signal 9"));
  wait_nothing_left(process);
}

TEST_CASE("a host that lets nobody in is named, with ssh's own words and a remedy") {
  const auto result = finish(
      job({"--hosts", "127.0.0.1:1", "--ssh", server().wrong_command()}, {"environment", "RANK"}));
  INFO(result.error);
  CHECK(result.status == 1);
  CHECK(contains(result.error, "Permission denied (publickey)"));
  CHECK(contains(result.error, "cannot reach host 127.0.0.1: 'ssh' exited with status 255"));
  CHECK(contains(result.error, "work without asking a question?"));
}

TEST_CASE("a host without rondorun is named") {
  const auto result =
      finish(job(hosts("127.0.0.1:1", {"--remote-path", "/no/rondorun"}), {"environment", "RANK"}));
  INFO(result.error);
  CHECK(result.status == 1);
  CHECK(contains(result.error, "/no/rondorun"));
  CHECK(contains(result.error, "cannot reach host 127.0.0.1: 'ssh' exited with status 127"));
}

int main(int argc, char** argv) {
  if (!SshServer::available()) {
    std::fputs("WARNING: NOTHING IS TESTED HERE: sshd is not installed (openssh-server)\n", stderr);
    return skipped;
  }
  return Catch::Session().run(argc, argv);
}
