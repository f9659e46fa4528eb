// What rondorun does when ranks fail and when the user interferes: it tells, ends, leaves nothing.
#include <signal.h>

#include <filesystem>

#include "tests/catch.h"
#include "tests/tools/rondorun/support/process.h"

using namespace rondo::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string name_of(int rank, pid_t process) {
  return "rondorun: rank " + std::to_string(rank) + " (pid " + std::to_string(process) + ", host ";
}

/// The child of rondorun's first process.
pid_t supervisor_of(pid_t front) {
  const std::string id = std::to_string(front);
  return std::atoi(read_file("/proc/" + id + "/task/" + id + "/children").c_str());
}

char state_of(pid_t process) {
  const std::string stat = read_file("/proc/" + std::to_string(process) + "/stat");
  return stat.at(stat.rfind(')') + 2);
}

}  // namespace

TEST_CASE("a killed rank ends the job in under 5 seconds, even if the others are stubborn") {
  const bool in_time = one_in_time([] {
    Process process(job({"-n", "4"}, {"stubborn"}));
    process.wait_for("up ", 4);
    const auto begin = process.waited();
    ::kill(process.rank(2), SIGKILL);
    CHECK(process.wait() == 137);
    const auto taken = process.waited() - begin;
    CHECK(process.living().empty());
    CHECK(contains(process.error(), name_of(2, process.rank(2))));
    CHECK(contains(process.error(), ") was killed by signal 9 (SIGKILL); ending the others\n"));
    return taken;
  });
  CHECK(in_time);
}

TEST_CASE("ranks that fail in the same way are named together") {
  Process process(job({"-n", "4"}, {"stubborn"}));
  process.wait_for("up ", 4);
  process.signal(SIGSTOP);  // so that it sees their ends at once
  process.wait_stopped();
  for (int rank = 0; rank < 4; ++rank) ::kill(process.rank(rank), SIGKILL);
  process.signal(SIGCONT);
  CHECK(process.wait() == 137);
  CHECK(contains(process.error(), "rondorun: after that ranks "));
  CHECK(contains(process.error(), " were killed by signal 9 (SIGKILL)\n"));
}

TEST_CASE("the first failure's status is the job's") {
  const auto result = finish(job({"-n", "4"}, {"leave", "7", "3"}));
  INFO(result.error);
  CHECK(result.status == 7);
  CHECK(contains(result.error, "rondorun: rank 3 (pid "));
  CHECK(contains(result.error, ") exited with status 7; ending the others\n"));
  const auto crash = finish(job({"-n", "1"}, {"crash"}));
  CHECK(crash.status == 134);
  CHECK(contains(crash.error, ") was killed by signal 6 (SIGABRT"));
}

TEST_CASE("a rank that exits with success leaves the others running") {
  Process process(job({"-n", "3"}, {"leave", "0", "1"}));
  process.wait_for("up ", 2);
  process.wait_until([&] { return process.living().size() == 4; }, "one rank's end");
  process.signal(SIGTERM);
  CHECK(process.wait() == 143);
  CHECK(process.error() == "");
}

TEST_CASE("ranks that see their peer vanish have time to say so, and are not blamed") {
  Process process(job({"-n", "4", "--grace", "60"}, {"peers", "2"}));
  process.wait_for("up 2 ");
  ::kill(process.rank(2), SIGKILL);
  CHECK(process.wait() == 137);
  for (const int rank : {0, 1, 3})
    CHECK(contains(process.error(), "rank " + std::to_string(rank) + " lost rank 2\n"));
  CHECK(contains(process.error(), "rondorun: rank 2 (pid "));
  CHECK(contains(process.error(), "was killed by signal 9 (SIGKILL)"));
  CHECK(contains(process.error(), " exited with status 3\n"));
  CHECK(process.living().empty());
}

TEST_CASE("signals are passed on") {
  Process process(job({"-n", "2"}, {"polite"}));
  process.wait_for("up ", 2);
  process.signal(SIGUSR1);
  process.wait_for(" got " + std::to_string(SIGUSR1), 2);
  process.signal(SIGUSR2);
  process.wait_for(" got " + std::to_string(SIGUSR2), 2);
  const int last = GENERATE(SIGTERM, SIGINT, SIGHUP);
  process.signal(last);
  CHECK(process.wait() == 0);
  CHECK(contains(process.output(), "rank 0 got " + std::to_string(last)));
  CHECK(contains(process.output(), "rank 1 got " + std::to_string(last)));
  CHECK(process.error() == "");
}

TEST_CASE("ranks that die of the signal give its status") {
  Process process(job({"-n", "2"}, {"up"}));
  process.wait_for("up ", 2);
  process.signal(SIGINT);
  CHECK(process.wait() == 130);
  CHECK(process.error() == "");
  CHECK(process.living().empty());
}

TEST_CASE("ranks that ignore the signal are killed after the grace time") {
  Process process(job({"-n", "2", "--grace", "0.2"}, {"stubborn"}));
  process.wait_for("up ", 2);
  process.signal(SIGTERM);
  CHECK(process.wait() == 143);
  CHECK(process.living().empty());
}

TEST_CASE("a second Ctrl-C kills at once") {
  auto command = job({"-n", "2", "--grace", "1000"}, {"stubborn"});
  command.terminal = true;
  Process process(command);
  process.wait_for("up ", 2);
  process.type("\x03");
  process.type("\x03");
  // Two of them may count as one while the first is pending.
  process.wait_until(
      [&] {
        if (process.living().empty()) return true;
        process.signal(SIGINT);
        return false;
      },
      "the end");
  CHECK(process.wait() == 130);
}

TEST_CASE("stopping stops the ranks, continuing continues them") {
  auto command = job({"-n", "2"}, {"polite"});
  command.terminal = true;
  Process process(command);
  process.wait_for("up ", 2);
  process.type("\x1a");
  process.wait_stopped();
  process.wait_until(
      [&] { return state_of(process.rank(0)) == 'T' && state_of(process.rank(1)) == 'T'; },
      "the ranks' stop");
  process.signal(SIGCONT);
  process.signal(SIGUSR1);
  process.wait_for(" got ", 2);
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
}

TEST_CASE("when rondorun is killed no process is left, wherever it hides") {
  const std::string who = GENERATE(as<std::string>{}, "front", "supervisor", "both");
  Process process(job({"-n", "2"}, {"daemon", "stay"}));
  process.wait_for("up ", 2);
  REQUIRE(process.living().size() == 6);  // front, supervisor, and twice a rank and its own child
  const pid_t supervisor = supervisor_of(process.id());
  if (who == "both") process.signal(SIGSTOP);  // cannot react before it is killed as well
  if (who != "front") ::kill(supervisor, SIGKILL);
  if (who != "supervisor") process.signal(SIGKILL);
  if (who == "both") {
    // The ranks die with their parent. Nobody is left to look for processes that hid.
    process.wait_until([&] { return process.living().size() <= 2; }, "the ranks' end");
  } else {
    process.wait_none_living();
    CHECK(process.wait() == 137);
  }
}

TEST_CASE("what a rank leaves behind is ended with the job") {
  const auto result = finish(job({"-n", "2", "--grace", "0.2"}, {"daemon", "leave"}));
  INFO(result.error);
  CHECK(result.status == 0);
  CHECK(result.error == "");
}

TEST_CASE("a reader that goes away ends the job as it ends any program") {
  Process process(job({"-n", "2"}, {"flood", "200000"}));
  process.wait_for("0 1 x");
  process.stop_reading();
  CHECK(process.wait() == 141);
  process.wait_none_living();
}

TEST_CASE("children of the shell that became rondorun are spared") {
  Command command;
  command.words = {"sh", "-c", "sleep 1000 & echo up 0 $!; exec " + rondorun() + " -n 2 true"};
  Process process(command);
  process.wait_until([&] { return process.output().find("\n") != std::string::npos; }, "the shell");
  const pid_t spared = process.rank(0);
  process.wait_until([&] { return process.living() == std::vector<pid_t>{spared}; },
                     "the job's end");
  ::kill(spared, SIGKILL);
  CHECK(process.wait() == 0);
}

TEST_CASE("nothing is left in the folder of the job") {
  const TemporaryFolder folder;
  auto command = job({"-n", "2"}, {"up"});
  command.directory = folder.path();
  command.environment = {"TMPDIR=" + folder.path()};
  Process process(command);
  process.wait_for("up ", 2);
  ::kill(process.rank(0), SIGKILL);
  CHECK(process.wait() == 137);
  CHECK(folder.names().empty());
}
