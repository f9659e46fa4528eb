// Ranks that do not fit together, ports that belong to others, strangers at the door.
#include <signal.h>

#include <memory>
#include <set>

#include "tests/catch.h"
#include "tests/job/support/job.h"
#include "tests/job/support/network.h"

using namespace rondo::test;

namespace {

struct Start {
  int rank;
  int ranks;
};

/// Starts ranks by hand. Returns each one's failure, in that order.
std::vector<Failure> fail_together(const std::vector<Start>& starts, int port,
                                   const std::string& bootstrap_seconds) {
  std::vector<std::unique_ptr<Process>> processes;
  for (const Start& start : starts) {
    auto command = rank_of(start.rank, start.ranks, port, {"join"});
    command.environment.push_back("RONDO_BOOTSTRAP_TIMEOUT=" + bootstrap_seconds);
    processes.push_back(std::make_unique<Process>(command));
  }
  std::vector<Failure> failures;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    CHECK(processes[i]->wait() == 3);
    const auto said = failures_in(processes[i]->output());
    INFO(processes[i]->output() << processes[i]->error());
    REQUIRE(said.count(starts[i].rank) == 1);
    failures.push_back(said.at(starts[i].rank));
  }
  return failures;
}

/// All failures are of the bootstrap, came long before its usual end, and hold one of the texts.
void check_failures(const std::vector<Failure>& failures, const std::set<std::string>& texts) {
  for (const Failure& failure : failures) {
    INFO(failure.text);
    CHECK(failure.code == "bootstrap");
    CHECK(failure.seconds < 30);
    CHECK(contains(failure.text, "Try: "));
    bool found = false;
    for (const std::string& text : texts) found |= contains(failure.text, text);
    CHECK(found);
  }
}

const std::vector<std::string> rubbish{
    std::string("\0\1\2\3\4\5\6\7garbage\xff\xff\xff\xff", 19),
    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    std::string(100000, '\xff'),
    std::string("RONDOCTL") + std::string(64, '\0'),
};

}  // namespace

TEST_CASE("a missing rank is named by the ranks that came") {
  const auto failures = fail_together({{0, 3}, {1, 3}}, free_port(), "6");
  check_failures(failures, {"rank 2 of 3 did not join at port"});
  for (const Failure& failure : failures) CHECK(failure.peer == 2);
}

TEST_CASE("for a missing rank 0 the others say where it should be") {
  const int port = free_port();
  check_failures(fail_together({{1, 3}, {2, 3}}, port, "1.5"),
                 {"cannot join rank 0 at 127.0.0.1, port " + std::to_string(port)});
}

TEST_CASE("two processes of one rank are both named") {
  const auto failures = fail_together({{0, 3}, {1, 3}, {1, 3}}, free_port(), "4");
  check_failures(failures, {"two processes joined as rank 1"});
  CHECK(contains(failures[0].text, "rank 2 of 3 did not join at port"));
}

TEST_CASE("two rank 0s are told of the port") {
  const auto failures = fail_together({{0, 2}, {0, 2}}, free_port(), "1.5");
  check_failures(failures, {"cannot listen on port", "did not join at port"});
}

TEST_CASE("ranks with different world sizes are named with these sizes") {
  const auto failures = fail_together({{0, 2}, {1, 3}}, free_port(), "4");
  check_failures(failures, {"counts 3 ranks in the world, but those that joined count 2"});
  CHECK(contains(failures[0].text, "rank 1 of 2 did not join at port"));
  CHECK(contains(failures[1].text, "set the same WORLD_SIZE on every rank"));
}

TEST_CASE("variables that are missing or wrong are named before anything else happens") {
  struct Case {
    Words script;
    std::string text;
  };
  const auto wrong = GENERATE(values<Case>({
      {{"unset=MASTER_ADDR"}, "WORLD_SIZE=2 but MASTER_ADDR is not set"},
      {{"unset=MASTER_PORT"}, "WORLD_SIZE=2 but MASTER_PORT is not set"},
      {{"unset=WORLD_SIZE"}, "RANK=0 is set but WORLD_SIZE is not"},
      {{"unset=RANK"}, "WORLD_SIZE=2 is set but RANK is not"},
      {{"set=RANK=2"}, "RANK=2 is not below WORLD_SIZE=2"},
      {{"set=RANK=-1"}, "RANK=-1 is not a whole number"},
      {{"set=WORLD_SIZE=two"}, "WORLD_SIZE=two is not a whole number"},
      {{"set=MASTER_PORT=99999"}, "MASTER_PORT=99999 is not a whole number"},
  }));
  Words script = wrong.script;
  script.push_back("join");
  Process process(rank_of(0, 2, free_port(), script));
  CHECK(process.wait() == 3);
  INFO(process.output());
  const auto failure = failures_in(process.output()).at(0);
  CHECK(failure.code == "configuration");
  CHECK(contains(failure.text, wrong.text));
  CHECK(contains(failure.text, "Try: "));
}

TEST_CASE("a port that another program listens on is named, with what to set") {
  const SilentListener stranger;
  const std::string port = std::to_string(stranger.port());
  const auto failures = fail_together({{0, 2}, {1, 2}}, stranger.port(), "1.5");
  check_failures(failures, {"cannot listen on port " + port, "cannot join rank 0"});
  CHECK(contains(failures[0].text, "RONDO_PORT"));
  CHECK(contains(failures[1].text, "something that is not rondo listens there"));
}

TEST_CASE("strangers at the bootstrap are turned away and logged, and the job goes on") {
  const TemporaryFolder folder;
  const std::string file = folder / "go";
  const int port = free_port();
  Process process(job_of(3, {"--master-port", std::to_string(port)},
                         {"up", "2:wait_for_file=" + file, "join", "every_collective=1000",
                          "say=done", "wait_for_file=" + file + "2", "call=all_reduce,10"}));
  process.wait_for("up ", 3);
  process.wait_until([&] { return is_waiting_on_a_connection(process.rank(1)); }, "a hello");
  // Beside it rank 0 listens at a port of its own, to take over one day.
  const auto ports = listeners_of(process.rank(0));
  REQUIRE(ports.size() == 2);
  const sockaddr_in6& bootstrap = ports[ntohs(ports[0].sin6_port) == port ? 0 : 1];
  for (const std::string& text : rubbish) {
    const auto socket = connect_to(bootstrap);
    send_text(socket, text);
    CHECK(is_closed_by_peer(socket));
  }
  const auto silent = connect_to(bootstrap);
  write_file(file, "");
  process.wait_for("done ", 3);
  const auto late = connect_to(bootstrap);
  send_text(late, rubbish[1]);
  CHECK(is_closed_by_peer(late));
  write_file(file + "2", "");
  CHECK(process.wait() == 0);
  INFO(process.output() << process.error());
  CHECK(failures_in(process.output()).empty());
  CHECK(count_of(process.error(), "dropped a connection from 127.0.0.1:") >=
        static_cast<int>(rubbish.size()));
  CHECK(contains(process.error(), "HTTP"));
}

TEST_CASE("strangers on a TCP transport's port are turned away while the job runs") {
  Process process(
      job_of(2, {"--transport", "tcp", "--grace", "0.5"}, {"up", "join", "loop=all_reduce,1000"}));
  process.wait_for("turning ", 2);
  for (const int rank : {0, 1}) {
    for (const sockaddr_in6& port : listeners_of(process.rank(rank))) {
      for (const std::string& text : rubbish) {
        const auto socket = connect_to(port);
        send_text(socket, text);
      }
    }
  }
  process.wait_until([&] { return contains(process.error(), " to the TCP port: it "); },
                     "a warning");
  CHECK(failures_in(process.output()).empty());
  CHECK(!contains(process.output(), "WRONG"));
  process.signal(SIGTERM);
  CHECK(process.wait() == 143);
}
