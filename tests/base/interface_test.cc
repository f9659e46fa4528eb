// Which of the machine's addresses others should connect to.
#include "core/base/interface.h"

#include "tests/catch.h"

namespace rondo {
namespace {

using Addresses = std::vector<InterfaceAddress>;
using Names = std::vector<std::string>;

/// Best first.
Names chosen(std::string_view pattern, const Addresses& present) {
  Names names;
  for (const auto& one : choose_interfaces(pattern, present)) names.push_back(one.address);
  return names;
}

const InterfaceAddress loopback{"lo", "127.0.0.1"};
const InterfaceAddress bridge{"docker0", "172.17.0.1"};
const InterfaceAddress dead{.name = "eth0", .address = "10.0.0.1", .has_carrier = false};
const InterfaceAddress alive{"eth1", "10.0.1.1"};

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

TEST_CASE("the loopback interface of this machine has a carrier") {
  for (const InterfaceAddress& address : interface_addresses()) {
    if (address.name == "lo") CHECK(address.has_carrier);
  }
}

}  // namespace
}  // namespace rondo
