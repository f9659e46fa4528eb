// Ranks that die or fall silent: every other rank is told in time which one it was, and the job
// ends.
#include <signal.h>

#include <memory>

#include "tests/catch.h"
#include "tests/job/support/job.h"

using namespace rondo::test;

namespace {

/// Every rank but `lost` ended with an error of this code that names the lost one, and its process.
void check_survivors(const std::string& output, int ranks, int lost, const std::string& code,
                     pid_t process) {
  const auto failures = failures_in(output);
  CHECK(failures.size() == static_cast<std::size_t>(ranks - 1));
  for (const auto& [rank, failure] : failures) {
    INFO(failure.text);
    CHECK(failure.code == code);
    CHECK(failure.peer == lost);
    CHECK(contains(failure.text, "rank " + std::to_string(lost) + " (host "));
    CHECK(contains(failure.text, ", pid " + std::to_string(process) + ")"));
    CHECK(contains(failure.text, "Try: "));
  }
}

}  // namespace

TEST_CASE("kill -9 of one of four ranks ends the job in under 5 seconds, naming it") {
  const int lost = GENERATE(0, 2);
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  const Words work = GENERATE(Words{"loop=all_reduce,1000"}, Words{"loop=all_reduce,3000000"},
                              Words{"loop=all_to_all,100000"}, Words{"loop=broadcast,70000"},
                              Words{"loop_exchange=10"}, Words{"loop_exchange=700000"});
  Words script{"up", "join"};
  script.insert(script.end(), work.begin(), work.end());
  const bool in_time = one_in_time([&] {
    Process process(job_of(4, transport, script));
    process.wait_for("turning ", 4);
    const auto begin = process.waited();
    ::kill(process.rank(lost), SIGKILL);
    CHECK(process.wait() == 137);
    const auto taken = process.waited() - begin;
    INFO(work[0] << " " << transport[1] << "\n" << process.output() << "\n" << process.error());
    check_survivors(process.output(), 4, lost, "peer_lost", process.rank(lost));
    CHECK(contains(process.error(), "rondorun: rank " + std::to_string(lost) + " (pid " +
                                        std::to_string(process.rank(lost)) + ", host "));
    CHECK(contains(process.error(), ") was killed by signal 9 (SIGKILL)"));
    CHECK(process.living().empty());
    return taken;
  });
  CHECK(in_time);
}

TEST_CASE("a rank killed while the others wait for it inside a call is named") {
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  const std::string call = GENERATE(as<std::string>(), "call=all_reduce,100000", "exchange=100000");
  const Words script{"up", "join", "call=barrier", "2:say=outside", "2:wait", "say=inside", call};
  const bool in_time = one_in_time([&] {
    Process process(job_of(4, transport, script));
    process.wait_for("outside 2");
    process.wait_for("inside ", 3);
    const auto begin = process.waited();
    ::kill(process.rank(2), SIGKILL);
    CHECK(process.wait() == 137);
    const auto taken = process.waited() - begin;
    INFO(process.output() << "\n" << process.error());
    check_survivors(process.output(), 4, 2, "peer_lost", process.rank(2));
    return taken;
  });
  CHECK(in_time);
}

TEST_CASE("a rank killed between calls is named by the next call of each other rank") {
  const int lost = GENERATE(0, 2);
  const TemporaryFolder folder;
  const std::string file = folder / "go";
  Process process(job_of(4, {},
                         {"up", "join", "call=all_reduce,10", "say=between",
                          "wait_for_file=" + file, "call=all_reduce,10"}));
  process.wait_for("between ", 4);
  ::kill(process.rank(lost), SIGKILL);
  write_file(file, "");
  CHECK(process.wait() == 137);
  INFO(process.output() << "\n" << process.error());
  check_survivors(process.output(), 4, lost, "peer_lost", process.rank(lost));
}

TEST_CASE("a rank killed while the ranks still meet is named") {
  Process process(job_of(4, {}, {"up", "3:wait", "join"}));
  process.wait_for("up ", 4);
  for (const int rank : {0, 1, 2})
    process.wait_until([&] { return is_waiting_on_a_connection(process.rank(rank)); }, "a hello");
  ::kill(process.rank(2), SIGKILL);
  CHECK(process.wait() == 137);
  INFO(process.output() << "\n" << process.error());
  const auto failures = failures_in(process.output());
  for (const int rank : {0, 1}) {
    REQUIRE(failures.count(rank) == 1);
    CHECK(failures.at(rank).code == "bootstrap");
    CHECK(failures.at(rank).peer == 2);
    CHECK(contains(failures.at(rank).text, "rank 2 (host "));
    CHECK(contains(failures.at(rank).text, "joined and left before all ranks had joined"));
  }
}

TEST_CASE("rank 0 killed while the ranks still meet ends the job") {
  const bool in_time = one_in_time([] {
    Process process(job_of(4, {"--grace", "0.2"}, {"up", "3:wait", "join"}));
    process.wait_for("up ", 4);
    process.wait_until([&] { return is_waiting_on_a_connection(process.rank(1)); }, "its hello");
    const auto begin = process.waited();
    ::kill(process.rank(0), SIGKILL);
    CHECK(process.wait() == 137);
    const auto taken = process.waited() - begin;
    CHECK(contains(process.error(), "rondorun: rank 0 (pid "));
    return taken;
  });
  CHECK(in_time);
}

TEST_CASE("ranks without a launcher learn of a killed rank just as well") {
  const int lost = GENERATE(0, 1);
  const int port = free_port();
  const Words script{"up", "join", "loop=all_reduce,100"};
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.push_back(std::make_unique<Process>(rank_of(rank, 3, port, script)));
  for (auto& rank : ranks) rank->wait_for("turning ");
  const pid_t victim = ranks[static_cast<std::size_t>(lost)]->id();
  ::kill(victim, SIGKILL);
  for (int rank = 0; rank < 3; ++rank) {
    Process& process = *ranks[static_cast<std::size_t>(rank)];
    CHECK(process.wait() == (rank == lost ? 137 : 3));
    if (rank == lost) continue;
    const auto failure = failures_in(process.output()).at(rank);
    INFO(failure.text);
    CHECK(failure.code == "peer_lost");
    CHECK(failure.peer == lost);
    CHECK(contains(failure.text, ", pid " + std::to_string(victim) + ")"));
    CHECK(failure.seconds < 60);
  }
}

TEST_CASE("a stopped rank is named when the deadline has passed") {
  const int lost = GENERATE(0, 2);
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  const Words options{transport[0], transport[1], "--grace", "5"};  // for the stopped one
  auto command = job_of(4, options, {"up", "join", "loop=all_reduce,1000"});
  command.words.insert(command.words.begin() + 1, {"--timeout", "5"});
  Process process(command);
  process.wait_for("turning ", 4);
  ::kill(process.rank(lost), SIGSTOP);
  CHECK(process.wait() == 3);
  INFO(process.output() << "\n" << process.error());
  const auto failures = failures_in(process.output());
  CHECK(failures.size() == 3);
  for (const auto& [rank, failure] : failures) {
    INFO(failure.text);
    CHECK(failure.code == "timeout");
    CHECK(failure.peer == lost);
    CHECK(contains(failure.text, "rank " + std::to_string(lost) + " (host "));
    CHECK(contains(failure.text, ", pid " + std::to_string(process.rank(lost)) + ")"));
    CHECK(contains(failure.text, "did not complete within 5 s"));
    CHECK(contains(failure.text, "RONDO_TIMEOUT"));
    CHECK(failure.seconds < 60);
    CHECK(failure.seconds > 4.5);
  }
  CHECK(process.living().empty());
}

TEST_CASE("a rank that computes and never comes is named, with what it did last") {
  const int lost = GENERATE(0, 2);
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  auto command = job_of(3, transport,
                        {"up", "join", "call=all_reduce,1000", "timeout=3000",
                         std::to_string(lost) + ":compute=60000", "call=all_reduce,1000"});
  Process process(command);
  CHECK(process.wait() == 3);
  INFO(process.output() << "\n" << process.error());
  check_survivors(process.output(), 3, lost, "timeout", process.rank(lost));
  for (const auto& [rank, failure] : failures_in(process.output())) {
    CHECK(
        contains(failure.text, "its last call was all_reduce #1 (1000 x float32, sum), complete"));
    CHECK(failure.seconds < 50);
  }
}

TEST_CASE("a rank that comes late, but in time, is named in a note and waited for") {
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  const TemporaryFolder folder;
  const std::string file = folder / "late";
  Process process(job_of(3, transport,
                         {"join", "call=all_reduce,1000", "1:wait_for_file=" + file,
                          "call=all_reduce,1000000", "2:compute=500", "call=all_gather,1000"}));
  process.wait_until([&] { return contains(process.error(), "waiting for rank 1"); }, "the note");
  write_file(file, "");
  CHECK(process.wait() == 0);
  INFO(process.output() << "\n" << process.error());
  CHECK(failures_in(process.output()).empty());
}

TEST_CASE("work in the background and a big receive are interrupted by a death as well") {
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  Process process(job_of(
      3, transport,
      {"up", "join", "call=barrier", "1:say=outside", "1:wait", "say=inside", "overlap=500000"}));
  process.wait_for("outside 1");
  process.wait_for("inside ", 2);
  ::kill(process.rank(1), SIGKILL);
  CHECK(process.wait() == 137);
  INFO(process.output() << "\n" << process.error());
  check_survivors(process.output(), 3, 1, "peer_lost", process.rank(1));
}

TEST_CASE("a rank that ends by an exception takes the job with it, and the others know whom") {
  auto command = job_of(
      3, {},
      {"up", "join", "call=all_reduce,10", "1:throw=the model is bad", "call=all_reduce,10"});
  Process process(command);
  CHECK(process.wait() == 134);
  INFO(process.output() << "\n" << process.error());
  check_survivors(process.output(), 3, 1, "peer_lost", process.rank(1));
  CHECK(contains(process.error(), "the model is bad"));
  CHECK(contains(process.error(), "rondorun: rank 1 (pid "));
}

TEST_CASE("a rank that leaves in order while others still call is named") {
  const std::string way = GENERATE(as<std::string>(), "finalize", "drop", "exit=0", "_exit=0");
  auto command = job_of(
      3, {}, {"up", "join", "call=all_reduce,10", "1:" + way, "1:exit=0", "call=all_reduce,10"});
  Process process(command);
  CHECK(process.wait() == 3);
  INFO(way << "\n" << process.output() << "\n" << process.error());
  const auto failures = failures_in(process.output());
  CHECK(failures.size() == 2);
  for (const auto& [rank, failure] : failures) {
    CHECK(failure.peer == 1);
    CHECK((failure.code == "mismatch" || failure.code == "peer_lost"));
    CHECK(contains(failure.text, "rank 1 (host "));
    CHECK(failure.seconds < 60);
  }
}

TEST_CASE("a rank that exits without leaving harms at most those that still wait, and is named") {
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  Process process(job_of(5, transport, {"up", "join", "call=all_reduce,1000", "1:exit=0"}));
  process.wait();
  INFO(process.output() << "\n" << process.error());
  for (const auto& [rank, failure] : failures_in(process.output())) {
    CHECK(failure.code == "peer_lost");
    CHECK(failure.peer == 1);
    CHECK(contains(failure.text, ", pid " + std::to_string(process.rank(1)) + ")"));
    CHECK(contains(failure.text, "a rank that ends in order destroys its communicators first"));
  }
}

TEST_CASE("a rank that leaves while others split is named at once") {
  // It is there until the launcher ends it, so no rank learns of it by its end.
  const auto result =
      finish(job_of(3, {}, {"join", "call=barrier", "1:finalize", "^1:split=10", "1:wait"}));
  INFO(result.output << "\n" << result.error);
  CHECK(result.status == 3);
  const auto failures = failures_in(result.output);
  CHECK(failures.size() == 2);
  for (const auto& [rank, failure] : failures) {
    CHECK(failure.code == "mismatch");
    CHECK(failure.peer == 1);
    CHECK(contains(failure.text, "rank 1 (host "));
  }
}

TEST_CASE("abort ends the call of every rank, with the reason") {
  auto command = job_of(
      3, {}, {"join", "call=all_reduce,10", "2:abort=loss is not a number", "call=all_reduce,10"});
  Process process(command);
  CHECK(process.wait() == 3);
  INFO(process.output() << "\n" << process.error());
  const auto failures = failures_in(process.output());
  CHECK(failures.size() == 3);
  for (const auto& [rank, failure] : failures) {
    CHECK(failure.code == "aborted");
    CHECK(contains(failure.text, "loss is not a number"));
    CHECK(failure.seconds < 60);
  }
}
