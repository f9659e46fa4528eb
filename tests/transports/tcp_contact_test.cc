// Where ranks listen, the text in which they tell it, and which of a peer's addresses they use.
#include <string>
#include <vector>

#include "core/settings/interface.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/transports/world.h"
#include "transports/tcp/contact.h"

namespace rondo::testing {

TEST_CASE("tcp: a contact survives its text form", "[transports]") {
  const tcp::Contact contact{0x1234abcd, {{"10.0.0.1", 4711, 24}, {"fd00::1", 65535}}};
  CHECK(tcp::to_text(contact) == "000000001234abcd;10.0.0.1/24:4711;[fd00::1/0]:65535");
  CHECK(tcp::parse_contact(tcp::to_text(contact)) == contact);
  for (const char* text :
       {"", "12", "12;", "xyz;10.0.0.1/8:1", "12;10.0.0.1/8", "12;10.0.0.1/8:70000", "12;:5",
        "12;10.0.0.1/8:5x", "12;10.0.0.1:5", "12;10.0.0.1/x:5", "12;10.0.0.1/-1:5"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(tcp::parse_contact(text), Error);
  }
}

TEST_CASE("tcp: sockets take turns on the networks that both ranks are in", "[transports]") {
  const tcp::Contact here{1, {{"10.0.0.1", 1, 24}, {"10.0.1.1", 2, 24}, {"fe80::1%eth0", 3, 64}}};
  const tcp::Contact peer{
      2,
      {{"192.168.0.2", 4, 24}, {"fe80::2%eth0", 5, 64}, {"10.0.1.2", 6, 24}, {"10.0.0.2", 7, 24}}};
  const auto ports = [&](int socket) {
    std::vector<int> all;
    for (const tcp::Endpoint& each : tcp::for_socket(peer, here, socket).endpoints)
      all.push_back(each.port);
    return all;
  };
  CHECK(ports(0) == std::vector<int>{6, 7, 4, 5});
  CHECK(ports(1) == std::vector<int>{7, 6, 4, 5});
  CHECK(ports(2) == ports(0));
  const tcp::Contact far{3, {{"10.9.0.1", 1, 24}}};
  CHECK(tcp::for_socket(peer, far, 1).endpoints.front().port == 5);
  CHECK_FALSE(tcp::share_network({"10.0.0.1", 1, 24}, {"10.0.0.2", 1, 16}));
  CHECK(tcp::share_network({"10.0.0.129", 1, 25}, {"10.0.0.130", 1, 25}));
  CHECK_FALSE(tcp::share_network({"10.0.0.129", 1, 25}, {"10.0.0.1", 1, 25}));
  CHECK(tcp::share_network({"fd00::1", 1, 64}, {"fd00::2", 1, 64}));
  CHECK(tcp::share_machine(here, {4, {{"10.0.1.1", 8, 24}}}));
  CHECK_FALSE(tcp::share_machine(here, peer));
  const tcp::Contact same_bridge{5, {{"10.0.1.1", 8, 24}, {"10.0.0.7", 9, 24}}};
  CHECK_FALSE(tcp::share_machine(here, same_bridge));
  CHECK(tcp::for_socket(same_bridge, here, 0).endpoints ==
        std::vector<tcp::Endpoint>{{"10.0.0.7", 9, 24}});
  CHECK_FALSE(tcp::share_network({"10.0.0.1", 1, 33}, {"10.0.0.1", 1, 33}));
}

TEST_CASE("tcp: an interface that is not there is a configuration error", "[transports]") {
  Doorbell doorbell;
  const TransportSettings settings{.interface = "=nosuch0", .doorbell = &doorbell};
  CHECK_THROWS_AS(find_transport("tcp")->make(settings), Error);
  const TransportSettings loopback{.interface = "=lo", .doorbell = &doorbell};
  const auto transport = find_transport("tcp")->make(loopback);
  const tcp::Contact contact = tcp::parse_contact(transport->address());
  CHECK(contact.endpoints.front().address == "127.0.0.1");
  REQUIRE(transport->ports().size() == 1);
  CHECK(transport->ports().front().name == "lo");
  CHECK(transport->ports().front().beta == 0);  // the kernel knows no speed of it
}

TEST_CASE("tcp: the address that others connect to is of the family that is asked for",
          "[transports]") {
  Doorbell doorbell;
  for (const InterfaceAddress& each : interface_addresses()) {
    if (each.name != "lo") continue;
    const TransportSettings settings{.interface = "=lo",
                                     .family = each.is_v6 ? AddressFamily::v6 : AddressFamily::v4,
                                     .doorbell = &doorbell};
    const tcp::Contact contact =
        tcp::parse_contact(find_transport("tcp")->make(settings)->address());
    CHECK((contact.endpoints.front().address.find(':') != std::string::npos) == each.is_v6);
  }
}

}  // namespace rondo::testing
