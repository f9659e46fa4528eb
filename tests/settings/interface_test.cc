// Which of the machine's addresses others should connect to.
#include "core/settings/interface.h"

#include "tests/catch.h"

namespace rondo {
namespace {

using Addresses = std::vector<InterfaceAddress>;
using Names = std::vector<std::string>;

/// Best first.
Names chosen(const std::string& pattern, const Addresses& present,
             AddressFamily family = AddressFamily::any) {
  Names names;
  for (const auto& one : choose_interfaces(pattern, family, present)) names.push_back(one.address);
  return names;
}

const InterfaceAddress loopback{"lo", "127.0.0.1"};
const InterfaceAddress bridge{"docker0", "172.17.0.1"};
const InterfaceAddress dead{.name = "eth0", .address = "10.0.0.1", .has_carrier = false};
const InterfaceAddress alive{"eth1", "10.0.1.1"};

TEST_CASE("interfaces are chosen as NCCL does") {
  const std::vector<InterfaceAddress> present{
      {"lo", "127.0.0.1", false}, {"docker0", "172.17.0.1", false}, {"eth0", "fe80::1%eth0", true},
      {"eth0", "fd00::1", true},  {"eth0", "10.0.0.1", false},      {"eth10", "10.0.1.1", false}};
  const auto first = [&](const std::string& pattern) {
    return choose_interfaces(pattern, AddressFamily::any, present).front().address;
  };
  CHECK(first("") == "10.0.0.1");
  CHECK(first("=eth10") == "10.0.1.1");
  CHECK(first("eth1,lo") == "10.0.1.1");
  CHECK(first("^eth") == "172.17.0.1");
  CHECK(first("^=eth0") == "10.0.1.1");
  CHECK(first("lo") == "127.0.0.1");
  CHECK(choose_interfaces("=eth0", AddressFamily::any, present).size() == 3);
  CHECK_THROWS_WITH(
      choose_interfaces("ib", AddressFamily::any, std::vector<InterfaceAddress>{present[0]}),
      "rondo: no network interface fits RONDO_SOCKET_IFNAME=ib. Try: choose among "
      "the interfaces here: lo (127.0.0.1)");
  CHECK_FALSE(interface_addresses().empty());
}

TEST_CASE("ranks of a host take turns on the interfaces that are asked for") {
  const Addresses present{
      {.name = "lo", .address = "127.0.0.1"},
      {.name = "eth0", .address = "10.0.0.1"},
      {.name = "eth0", .address = "fd00::1", .is_v6 = true},
      {.name = "eth0:1", .address = "10.0.0.2"},
      {.name = "eth1", .address = "10.0.1.1", .numa_node = 1},
      {.name = "eth2", .address = "10.0.2.1", .numa_node = 1},
      {.name = "docker0", .address = "172.17.0.1"},
  };
  const auto ports = [&](const std::string& pattern, int index, int node) {
    Names names;
    for (const auto& each : ports_in_turn(pattern, AddressFamily::any, present, index, node))
      names.push_back(each.name);
    return names;
  };
  CHECK(ports("", 1, -1) == Names{"eth0"});
  CHECK(ports("eth", 0, -1) == Names{"eth0", "eth1", "eth2"});
  CHECK(ports("eth", 1, -1) == Names{"eth1", "eth2", "eth0"});
  CHECK(ports("eth", 5, -1) == Names{"eth2", "eth0", "eth1"});
  CHECK(ports("^docker", 3, -1) == Names{"eth0", "eth1", "eth2"});
  CHECK(ports("eth", 0, 1) == Names{"eth1", "eth2", "eth0"});
  CHECK(ports("eth", 1, 1) == Names{"eth2", "eth1", "eth0"});
  CHECK(ports("eth", 1, 0) == Names{"eth1", "eth2", "eth0"});
  CHECK(ports("=lo,docker0", 1, -1) == Names{"docker0"});
}

TEST_CASE("an interface without carrier comes last") {
  CHECK(chosen("", {loopback, dead, bridge, alive}) ==
        Names{"10.0.1.1", "172.17.0.1", "127.0.0.1", "10.0.0.1"});
  CHECK(chosen("eth", {dead, alive}) == Names{"10.0.1.1", "10.0.0.1"});
}

TEST_CASE("among those without carrier the usual order holds") {
  Addresses present{loopback, bridge, alive, {"eth1", "fe80::1%eth1", true}};
  for (InterfaceAddress& address : present) address.has_carrier = false;
  CHECK(chosen("", present) == Names{"10.0.1.1", "fe80::1%eth1", "172.17.0.1", "127.0.0.1"});
}

TEST_CASE("an interface without carrier is still taken when it is asked for") {
  CHECK(chosen("=eth0", {loopback, alive, dead}) == Names{"10.0.0.1"});
}

TEST_CASE("a family leaves the other one's addresses out") {
  const Addresses present{loopback, alive, {"lo", "::1", true}, {"eth1", "fd00::1", true}};
  CHECK(chosen("", present, AddressFamily::v4) == Names{"10.0.1.1", "127.0.0.1"});
  CHECK(chosen("", present, AddressFamily::v6) == Names{"fd00::1", "::1"});
  CHECK(chosen("lo", present, AddressFamily::v6) == Names{"::1"});
}

TEST_CASE("interfaces without an address of the family are named, and all that there are") {
  const std::string remedy =
      ". Try: unset RONDO_SOCKET_FAMILY, give the interface such an address, or choose another "
      "one with RONDO_SOCKET_IFNAME; here are ";
  CHECK_THROWS_WITH(chosen("docker", {bridge, {"eth1", "fd00::1", true}}, AddressFamily::v6),
                    "rondo: RONDO_SOCKET_FAMILY=AF_INET6 asks for IPv6, and no interface that fits "
                    "RONDO_SOCKET_IFNAME=docker has such an address: docker0 (172.17.0.1)" +
                        remedy + "docker0 (172.17.0.1), eth1 (fd00::1)");
  CHECK_THROWS_WITH(chosen("", {{"eth1", "fd00::1", true}}, AddressFamily::v4),
                    "rondo: RONDO_SOCKET_FAMILY=AF_INET asks for IPv4, and no interface has such "
                    "an address: eth1 (fd00::1)" +
                        remedy + "eth1 (fd00::1)");
  CHECK_THROWS_WITH(chosen("ib", {bridge}, AddressFamily::v6),
                    "rondo: no network interface fits RONDO_SOCKET_IFNAME=ib. Try: choose among "
                    "the interfaces here: docker0 (172.17.0.1)");
  CHECK_THROWS_WITH(chosen("", {}, AddressFamily::v6),
                    "rondo: no network interface is up. Try: bring an interface up");
}

TEST_CASE("another machine's name for a link is replaced by this one's") {
  CHECK(as_seen_from("fe80::1%fabric0", "fe80::2%nosuch0") == "fe80::2%fabric0");
  for (const std::string here : {"10.0.0.1", "fd00::1"})
    CHECK(as_seen_from(here, "fe80::2%nosuch0") == "fe80::2%nosuch0");
  for (const std::string address : {"10.0.0.2", "fd00::2"})
    CHECK(as_seen_from("fe80::1%fabric0", address) == address);
  for (const InterfaceAddress& own : interface_addresses())
    CHECK(as_seen_from("fe80::1%fabric0", own.address) == own.address);
}

TEST_CASE("the loopback interface of this machine has a carrier") {
  for (const InterfaceAddress& address : interface_addresses()) {
    if (address.name == "lo") CHECK(address.has_carrier);
  }
}

}  // namespace
}  // namespace rondo
