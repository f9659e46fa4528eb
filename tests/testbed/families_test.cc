// Hosts with IPv6 addresses: global ones and link-local ones.
#include <filesystem>

#include "tests/catch.h"
#include "tests/testbed/support/testbed.h"

using namespace rondo::test;

namespace {

bool machine_has_ipv6() { return std::filesystem::exists("/proc/net/if_inet6"); }

/// Renames a host's interface and leaves it no IPv6 address but `address`, if that is one. The
/// kernel's own addresses cannot be used before it has asked the link for duplicates.
void set_up(const Testbed& testbed, int host, const std::string& interface,
            const std::string& address) {
  std::string script = "ip link set eth0 down && ip link set eth0 name " + interface +
                       " && ip link set " + interface + " addrgenmode none && ip link set " +
                       interface + " up";
  if (!address.empty())
    script += " && ip -6 address add " + address + "/64 dev " + interface + " nodad";
  Command command;
  command.words = testbed.on(host, {"sh", "-c", script});
  const Result result = finish(command);
  INFO(script << "\n" << result.output << result.error);
  REQUIRE(result.status == 0);
}

}  // namespace

TEST_CASE("RONDO_SOCKET_FAMILY=AF_INET6: the meeting and all data go over IPv6") {
  struct Case {
    std::string network;
    std::string other_interface;  ///< of host 1; host 0 has eth0
  };
  if (!machine_has_ipv6()) {
    WARN("this machine has no IPv6");
    return;
  }
  const auto [network, other_interface] = GENERATE(values<Case>({
      {"fd77::", "eth0"},
      {"fe80::", "eth0"},
      {"fe80::", "fabric0"},
  }));
  const Testbed testbed(2);
  set_up(testbed, 0, "eth0", network + "1");
  set_up(testbed, 1, other_interface, network + "2");
  const TemporaryFolder folder;
  const std::string counted = folder / "counted";
  Command command = job_on(testbed, 2, 0, {"--timeout", "20"},
                           {"join_by_id=0," + (folder / "id"), "call=all_reduce,100000",
                            "say=exchanged", "wait_for_file=" + counted, "every_collective=1000"});
  command.environment = {"RONDO_SOCKET_FAMILY=AF_INET6"};
  Process job(command);
  job.wait_for("exchanged ", 2);
  const int over_ipv4 = testbed.connections(1, "tcp");
  const int over_ipv6 = testbed.connections(1, "tcp6");
  write_file(counted, "");
  CHECK(job.wait() == 0);
  INFO(network << " " << other_interface << "\n" << job.output() << job.error());
  CHECK(trouble(job.error()) == "");
  CHECK(over_ipv4 == 0);
  CHECK(over_ipv6 > 1);  // more than the line to rank 0's control
}

TEST_CASE("an interface without an address of the family is an error that names both") {
  if (!machine_has_ipv6()) {
    WARN("this machine has no IPv6");
    return;
  }
  const std::string name = GENERATE(as<std::string>(), "RONDO_SOCKET_", "NCCL_SOCKET_");
  const Testbed testbed(2);
  for (const int host : {0, 1}) set_up(testbed, host, "eth0", "");
  Command command = job_on(testbed, 2, 0, {"--grace", "10"}, {"join"});
  command.environment = {name + "FAMILY=AF_INET6", name + "IFNAME==eth0"};
  const Result result = finish(command);
  INFO(result.output << result.error);
  CHECK(result.status == 3);
  const auto failures = failures_in(result.output);
  CHECK(failures.size() == 2);
  for (const auto& [rank, failure] : failures) {
    CHECK(failure.code == "configuration");
    CHECK(contains(failure.text, name +
                                     "FAMILY=AF_INET6 asks for IPv6, and no interface that fits " +
                                     name + "IFNAME==eth0 has such an address: eth0 (" +
                                     Testbed::address(rank, 0) + ")"));
    CHECK(contains(failure.text, "Try: unset " + name + "FAMILY"));
  }
}
