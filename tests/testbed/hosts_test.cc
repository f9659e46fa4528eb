// Hosts with several networks, and several connections between two hosts. Results are checked
// element by element by the rank program.
#include "tests/catch.h"
#include "tests/testbed/support/testbed.h"

using namespace rondo::test;

namespace {

const Words everything{"join", "every_collective=1000", "every_collective=300000", "say=done"};

/// The number of connections that carry data, once two hosts have exchanged some over channels with
/// `sockets` sockets each.
int data_connections(int sockets) {
  const Testbed testbed(2);
  const TemporaryFolder folder;
  const std::string file = folder / "counted";
  Command command = job_on(testbed, 2, 0, {},
                           {"join", "call=all_reduce,1000000", "call=all_reduce,3", "say=exchanged",
                            "wait_for_file=" + file, "every_collective=100000"});
  command.environment = {"RONDO_SOCKETS=" + std::to_string(sockets)};
  Process job(command);
  job.wait_for("exchanged ", 2);
  const int found = testbed.connections(1, "tcp");
  write_file(file, "");
  CHECK(job.wait() == 0);
  INFO(job.output() << job.error());
  CHECK(trouble(job.error()) == "");
  constexpr int control = 1;  // rank 1's line to rank 0
  return found - control;
}

}  // namespace

TEST_CASE("data takes the network that RONDO_SOCKET_IFNAME chooses: the other one is dead") {
  const Testbed testbed(3, 2);
  for (const int host : {0, 1, 2}) testbed.cut(host, 0);
  for (const std::string pattern : {"=eth1", "eth1", "^eth0", "ib,eth1"}) {
    Command command = job_on(testbed, 3, 1, {"--timeout", "10"}, everything);
    command.environment = {"RONDO_SOCKET_IFNAME=" + pattern};
    const Result result = finish(command);
    INFO(pattern << "\n" << result.output << result.error);
    CHECK(result.status == 0);
    CHECK(trouble(result.error) == "");
    CHECK(count_of(result.output, "done ") == 3);
  }
}

TEST_CASE("a job on several hosts runs the schedule that was found for them") {
  const Testbed testbed(2);
  const TemporaryFolder folder;
  const std::string file = folder / "found.schedule";
  Command search;
  search.words = {RONDO_PROGRAM, "synthesize", "all_reduce", "--hosts", "2x2",
                  "-b",          "1M",         "-o",         file};
  REQUIRE(finish(search).status == 0);
  for (const bool fits : {true, false}) {
    Command command = job_on(testbed, 2, 0, {}, everything, fits ? 2 : 1);
    command.environment = {"RONDO_SCHEDULES=" + file, "RONDO_ALGORITHM=all_reduce:synthesized"};
    const Result result = finish(command);
    INFO(result.output << result.error);
    CHECK((result.status == 0) == fits);
    CHECK(count_of(result.output, "done ") == (fits ? 4 : 0));
    CHECK(((result.output + result.error).find("is for 4 ranks, not 2") != std::string::npos) ==
          !fits);
  }
}

TEST_CASE("each host may choose another network where there are routes between them") {
  const Testbed testbed(3, 2);
  Words script{"0:set=RONDO_SOCKET_IFNAME==eth0", "^0:set=RONDO_SOCKET_IFNAME==eth1"};
  script.insert(script.end(), everything.begin(), everything.end());
  const Result result = finish(job_on(testbed, 3, 0, {}, script));
  INFO(result.output << result.error);
  CHECK(result.status == 0);
  CHECK(count_of(result.output, "done ") == 3);
}

TEST_CASE("the ranks of a host, and the sockets of a rank, take turns on all interfaces that fit") {
  struct Case {
    int ranks_per_host;
    std::string sockets;
  };
  const auto [ranks_per_host, sockets] = GENERATE(values<Case>({{4, "1"}, {1, "2"}}));
  const Testbed testbed(2, 2);
  const TemporaryFolder folder;
  const std::string counted = folder / "counted";
  Command command = job_on(testbed, 2, 0, {},
                           {"join", "call=all_reduce,1000000", "say=exchanged",
                            "wait_for_file=" + counted, "every_collective=1000"},
                           ranks_per_host);
  command.environment = {"RONDO_SOCKET_IFNAME=eth", "RONDO_SOCKETS=" + sockets};
  Process job(command);
  job.wait_for("exchanged ", 2 * ranks_per_host);
  // An all_reduce of 4 MB between two hosts sends 4 MB from each.
  for (const int host : {0, 1}) {
    for (const int interface : {0, 1}) {
      INFO("host " << host << ", eth" << interface);
      CHECK(testbed.sent(host, interface) > 1'900'000);
      CHECK(testbed.sent(host, interface) < 2'500'000);
    }
  }
  write_file(counted, "");
  CHECK(job.wait() == 0);
  INFO(job.output() << job.error());
  CHECK(trouble(job.error()) == "");
}

TEST_CASE("where hosts have unlike interfaces, those networks carry that both are in") {
  const Testbed testbed(2, 2);
  Words script{"0:set=RONDO_SOCKET_IFNAME=eth", "^0:set=RONDO_SOCKET_IFNAME==eth0"};
  script.insert(script.end(), everything.begin(), everything.end());
  const Result result = finish(job_on(testbed, 2, 0, {}, script));
  INFO(result.output << result.error);
  CHECK(result.status == 0);
  CHECK(trouble(result.error) == "");
  CHECK(testbed.sent(0, 1) < 100'000);
}

TEST_CASE("an interface that no host has is an error on each that lists what it has") {
  const Testbed testbed(2, 2);
  for (const std::string pattern : {"=eth", "wlan"}) {
    Command command = job_on(testbed, 2, 0, {"--grace", "10"}, {"join"});
    command.environment = {"RONDO_SOCKET_IFNAME=" + pattern};
    const Result result = finish(command);
    INFO(result.output << result.error);
    CHECK(result.status == 3);
    for (const auto& [rank, failure] : failures_in(result.output)) {
      CHECK(failure.code == "configuration");
      CHECK(contains(failure.text, "RONDO_SOCKET_IFNAME=" + pattern));
      CHECK(contains(failure.text, "eth0 (" + Testbed::address(rank, 0) + ")"));
      CHECK(contains(failure.text, "eth1 (" + Testbed::address(rank, 1) + ")"));
    }
  }
}

TEST_CASE("between hosts passes go side by side, and the results are the same") {
  const Testbed testbed(4);
  for (const std::string algorithm : {"ring", "circulant", "two_shot"}) {
    Command command = job_on(testbed, 4, 0, {"--timeout", "60"}, everything);
    command.environment = {"RONDO_ALGORITHM=" + algorithm};
    const Result result = finish(command);
    INFO(algorithm << "\n" << result.output << result.error);
    CHECK(result.status == 0);
    CHECK(trouble(result.error) == "");
    CHECK(count_of(result.output, "done ") == 4);
  }
}

TEST_CASE("a dead network is not chosen where there is another") {
  const Testbed testbed(3, 2);
  for (const int host : {0, 1, 2}) testbed.cut(host, 0);
  const Result result = finish(job_on(testbed, 3, 1, {"--timeout", "10"}, everything));
  INFO(result.output << result.error);
  CHECK(result.status == 0);
  CHECK(count_of(result.output, "done ") == 3);
}

TEST_CASE("a connection that does not come about in time is named, with the way out") {
  const Testbed testbed(2, 2);
  testbed.cut(1, 0);
  Command command =
      job_on(testbed, 2, 1, {"--timeout", "20", "--grace", "10"}, {"join", "call=all_reduce,1000"});
  command.environment = {"RONDO_SOCKET_IFNAME==eth0"};
  const Result result = finish(command);
  INFO(result.output << result.error);
  CHECK(result.status == 3);
  const auto failures = failures_in(result.output);
  CHECK(failures.size() == 2);
  for (const auto& [rank, failure] : failures) {
    CHECK(failure.code == "timeout");
    CHECK(failure.peer == 1 - rank);
    // Each host found out by itself, or has heard it from the other.
    const int unreachable = contains(failure.text, " reports: ") ? rank : 1 - rank;
    CHECK(contains(failure.text, "cannot connect to rank " + std::to_string(unreachable) + " at " +
                                     Testbed::address(unreachable, 0) + " port "));
    CHECK(contains(failure.text, " within 10000 ms: "));
    CHECK(contains(failure.text, "RONDO_SOCKET_IFNAME"));
  }
}

TEST_CASE("rondorun's own host does not lend its name to the hosts it starts ranks on") {
  const Testbed testbed(3);
  Command command = job_on(testbed, 3, 0, {}, everything);
  command.words = testbed.on(0, command.words);
  command.environment = {"NCCL_HOSTID=h0"};
  const Result result = finish(command);
  INFO(result.output << result.error);
  CHECK(result.status == 0);
  CHECK(count_of(result.output, "done ") == 3);
}

TEST_CASE("RONDO_SOCKETS=4 makes four connections of each; the data stays in order") {
  const int one = data_connections(1);
  CHECK(one > 0);
  CHECK(data_connections(4) == 4 * one);
}
