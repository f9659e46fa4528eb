// Cables that are pulled and plugged in again while a job runs.
#include <chrono>
#include <memory>
#include <vector>

#include "tests/catch.h"
#include "tests/testbed/support/testbed.h"

using namespace rondo::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

/// Ranks on each of some hosts, started by hand.
Command node(const Testbed& testbed, int host, const Words& options, const Words& script,
             int hosts = 2, int ranks = 2) {
  Words words{rondorun(),
              "-n",
              std::to_string(ranks),
              "--nnodes",
              std::to_string(hosts),
              "--node-rank",
              std::to_string(host),
              "--master-addr",
              Testbed::address(0),
              "--master-port",
              "29577"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back(job_rank_program());
  words.insert(words.end(), script.begin(), script.end());
  Command command;
  command.words = testbed.on(host, words);
  command.environment = {"RONDO_SECRET=known to both nodes"};
  return command;
}

void check_typed(const std::map<int, Failure>& failures) {
  for (const auto& [rank, failure] : failures) {
    INFO("rank " << rank << ": " << failure.text);
    CHECK(failure.code == "timeout");
    CHECK(failure.seconds < 60);
    CHECK(contains(failure.text, "Try: "));
  }
}

}  // namespace

TEST_CASE("two hosts by hand: shared memory within each, TCP between them") {
  const Testbed testbed(2);
  const Words script{"join",
                     "describe=1000",
                     "every_collective=0",
                     "every_collective=1000",
                     "every_collective=1000000",
                     "overlap=3000",
                     "split=1000",
                     "say=done"};
  Process first(node(testbed, 0, {}, script));
  Process second(node(testbed, 1, {}, script));
  for (Process* process : {&first, &second}) {
    CHECK(process->wait() == 0);
    INFO(process->output() << process->error());
    CHECK(trouble(process->error()) == "");
    CHECK(count_of(process->output(), "done ") == 2);
    CHECK(count_of(process->output(), "over shm+tcp") +
              count_of(process->output(), "over tcp+shm") ==
          2);
  }
}

TEST_CASE("a job of several hosts without a secret says once that it is open") {
  const Testbed testbed(2);
  Command one = node(testbed, 0, {}, {"join", "say=done"});
  Command other = node(testbed, 1, {}, {"join", "say=done"});
  one.environment.clear();
  other.environment.clear();
  Process first(one);
  Process second(other);
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 0);
  CHECK(count_of(first.error(), "this job has no secret: whoever reaches its ports can join") == 1);
  CHECK(trouble(second.error()) == "");
}

TEST_CASE("hosts with different secrets do not meet, and each says why") {
  const Testbed testbed(2);
  const auto with = [&](int host, const std::string& secret) {
    Command command = node(testbed, host, {}, {"join", "say=done"});
    command.environment = {"RONDO_BOOTSTRAP_TIMEOUT=3", "RONDO_SECRET=" + secret};
    return command;
  };
  Process first(with(0, "the one of the first"));
  Process second(with(1, "the one of the second"));
  CHECK(first.wait() == 3);
  CHECK(second.wait() == 3);
  CHECK(contains(first.output() + first.error(), "ranks 2, 3 of 4 did not join"));
  CHECK(contains(
      second.output() + second.error(),
      "the service there has another secret: it is another job's, or RONDO_SECRET differs"));
}

// Host 0 has the coordinator. The host without a cable is in the minority, and must not go on.
TEST_CASE("hosts that reach each other go on without one that is cut off, which does not") {
  std::vector<std::unique_ptr<Testbed>> testbeds;
  std::vector<std::unique_ptr<Process>> nodes;
  for (const int lost : {0, 2}) {
    const Testbed& testbed = *testbeds.emplace_back(std::make_unique<Testbed>(3));
    for (int host = 0; host < 3; ++host)
      nodes.push_back(std::make_unique<Process>(
          node(testbed, host, {"--timeout", "8"}, {"up", "join", "survive=10000,2"}, 3, 1)));
    for (int host = 0; host < 3; ++host) nodes[nodes.size() - 3 + host]->wait_for("turning ");
    testbed.cut(lost);
  }
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const bool is_cut_off = at % 3 == (at < 3 ? 0U : 2U);
    const int status = nodes[at]->wait();
    INFO("lost " << (at < 3 ? 0 : 2) << ", host " << at % 3 << ": " << nodes[at]->output()
                 << nodes[at]->error());
    CHECK(status == (is_cut_off ? 3 : 0));
    CHECK(contains(nodes[at]->output(), is_cut_off ? "the ranks cannot agree: " : "2 ranks go on"));
  }
}

TEST_CASE("a pulled cable is an error on both hosts within the deadline, naming the other side") {
  const Testbed testbed(2);
  const Words script{"up", "join", "loop=all_reduce,10000"};
  Process first(node(testbed, 0, {"--timeout", "8"}, script));
  Process second(node(testbed, 1, {"--timeout", "8"}, script));
  first.wait_for("turning ", 2);
  second.wait_for("turning ", 2);
  const auto begin = Clock::now();
  testbed.cut(1);
  CHECK(first.wait() == 3);
  CHECK(second.wait() == 3);
  CHECK(Clock::now() - begin < 60s);
  INFO(first.output() << first.error() << second.output() << second.error());
  auto failures = failures_in(first.output());
  failures.merge(failures_in(second.output()));
  CHECK(failures.size() == 4);
  check_typed(failures);
  for (const auto& [rank, failure] : failures) CHECK(failure.peer / 2 == 1 - rank / 2);
}

// Each host's ranks speak with the coordinator by the other cable, so nobody is missed there.
TEST_CASE("a pulled cable of the data alone is found long before the deadline") {
  const Testbed testbed(2, 2);
  Command command =
      job_on(testbed, 2, 0, {"--timeout", "300"}, {"join", "loop=all_reduce,1000000"});
  command.environment.push_back("RONDO_SOCKET_IFNAME==eth1");
  Process job(command);
  job.wait_for("turning ", 2);
  testbed.cut(1, 1);
  CHECK(job.wait() == 3);
  INFO(job.output() << job.error());
  const auto failures = failures_in(job.output());
  REQUIRE(!failures.empty());
  check_typed(failures);
  for (const auto& [rank, failure] : failures)
    CHECK(contains(failure.text, "the path of the TCP connection to the peer is broken: "));
}

TEST_CASE("of three hosts the one that is cut off is named by all others") {
  const Testbed testbed(3);
  const Words options{"--timeout", "8", "--grace", "10"};
  Process job(job_on(testbed, 3, 0, options, {"join", "loop=all_reduce,1000000"}));
  job.wait_for("turning ", 3);
  testbed.cut(1);
  CHECK(job.wait() == 3);
  INFO(job.output() << job.error());
  auto failures = failures_in(job.output());
  REQUIRE(failures.size() == 3);
  check_typed(failures);
  CHECK(failures[0].peer == 1);
  CHECK(failures[2].peer == 1);
  CHECK(contains(failures[2].text, "(host h1, "));
  CHECK((failures[1].peer == 0 || failures[1].peer == 2));
}

TEST_CASE("a cable that is plugged in again in time only costs time") {
  const Testbed testbed(2);
  const TemporaryFolder folder;
  const std::string file = folder / "unplugged";
  const Words script{"join",
                     "call=all_reduce,1000",
                     "say=ready",
                     "wait_for_file=" + file,
                     "say=calling",
                     "call=all_reduce,100000",
                     "every_collective=1000"};
  Process first(node(testbed, 0, {"--timeout", "20"}, script));
  Process second(node(testbed, 1, {"--timeout", "20"}, script));
  first.wait_for("ready ", 2);
  second.wait_for("ready ", 2);
  testbed.cut(1);
  write_file(file, "");
  first.wait_for("calling ", 2);
  second.wait_for("calling ", 2);
  testbed.mend(1);
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 0);
}
