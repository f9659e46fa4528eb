// What the verbs transport sends to peers besides data: its ports as text, handshake messages over
// a socket, credits. Needs no device, no libibverbs and not its headers.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/transports/world.h"
#include "transports/verbs/credit.h"
#include "transports/verbs/handshake.h"
#include "transports/verbs/reach.h"
#include "transports/verbs/verbs.h"

namespace rondo::testing {
namespace {

using verbs::Credit;
using verbs::Gid;
using verbs::GidKind;
using verbs::Handshake;
using verbs::HandshakeKind;
using verbs::HandshakeMessage;
using verbs::PortName;

PortName port(const std::string& device, std::uint8_t network, std::uint8_t host,
              GidKind kind = GidKind::roce_v2) {
  return {device, 1,
          Gid{.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, network, host},
              .kind = kind}};
}

PortName subnet(const std::string& device, std::uint8_t prefix) {
  return {device, 2, Gid{.bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, prefix, 1, 2, 3, 4, 5, 6, 7, 8}}};
}

struct Sockets {
  Sockets() {
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    here = UniqueFd(pair[0]);
    there = UniqueFd(pair[1]);
  }
  UniqueFd here;
  UniqueFd there;
};

template <class Body>
std::string failure(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.message();
  }
  return "none";
}

}  // namespace

TEST_CASE("verbs: ports survive their text form", "[transports]") {
  const std::vector<PortName> ports{port("rxe0", 0, 1), subnet("mlx5_11", 3)};
  const std::string text = verbs::to_text(ports);
  CHECK(text ==
        "rxe0/1/2/00000000000000000000ffff0a4d0001;mlx5_11/2/0/fe80000000000003010203040506"
        "0708");
  CHECK(verbs::parse_ports(text) == ports);
  CHECK(verbs::parse_ports("").empty());
  for (const char* wrong :
       {"rxe0", "rxe0/1", "rxe0/1/2", "rxe0/1/3/00000000000000000000ffff0a4d0001",
        "rxe0/-1/2/00000000000000000000ffff0a4d0001", "rxe0/1/2/00000000000000000000ffff0a4d00",
        "rxe0/1/2/00000000000000000000ffff0a4d000g", "rxe0/x/2/00000000000000000000ffff0a4d0001"}) {
    CAPTURE(wrong);
    CHECK(failure([&] { verbs::parse_ports(wrong); }).starts_with("bootstrap: "));
  }
}

TEST_CASE("verbs: ports are dealt out in turn, the near ones first", "[transports]") {
  const std::vector<PortName> two{port("a", 1, 1), port("b", 1, 2)};
  const std::vector<PortName> peer{port("c", 1, 3)};
  CHECK(verbs::choose_port(two, peer, 0) == 0);
  CHECK(verbs::choose_port(two, peer, 1) == 1);
  CHECK(verbs::choose_port(two, peer, 2) == 0);
  const std::vector<PortName> networks{port("a", 1, 1), port("b", 2, 1)};
  CHECK(verbs::choose_port(networks, peer, 1) == 0);  // b is on another subnet
  const std::vector<PortName> far{port("d", 9, 1)};
  CHECK(verbs::choose_port(networks, far, 1) == 1);  // there may be a route
  const std::vector<PortName> infiniband{subnet("m", 0)};
  CHECK(verbs::choose_port(networks, infiniband, 0) == -1);
  CHECK(verbs::why_apart(networks, infiniband).starts_with("a port 1 (10.77.1.1) and m port 2 "));
  CHECK(verbs::why_apart(networks, far).empty());
}

TEST_CASE("verbs: obstacles name the host that lacks something", "[transports]") {
  const auto obstacle = find_transport("verbs")->obstacle;
  const HostInfo with{.hostname = "node1", .rdma = verbs::to_text(std::array{port("a", 1, 1)})};
  const HostInfo more{.hostname = "node2", .rdma = verbs::to_text(std::array{port("b", 7, 1)})};
  const HostInfo none{.hostname = "node3", .no_rdma = "no device"};
  const HostInfo other{.hostname = "node4", .rdma = verbs::to_text(std::array{subnet("m", 0)})};
  CHECK(obstacle(with, more).empty());
  CHECK(obstacle(with, none) == "node3 has no RDMA port to use (no device)");
  CHECK(obstacle(none, with) == "node3 has no RDMA port to use (no device)");
  CHECK(obstacle(with, other).starts_with("a port 1 (10.77.1.1) and m port 2 (fe80::"));
  HostInfo disabled;
  verbs::describe(disabled, {.disable = true});
  CHECK(disabled.rdma.empty());
  CHECK(disabled.no_rdma == "RONDO_IB_DISABLE=1");
}

TEST_CASE("verbs: forced without a port, it says why", "[transports]") {
  Doorbell doorbell;
  TransportSettings settings{.doorbell = &doorbell};
  settings.infiniband.disable = true;
  const std::string why = failure([&] { find_transport("verbs")->make(settings); });
  CAPTURE(why);
  CHECK(why.starts_with("configuration: "));
  CHECK((why.ends_with("RONDO_IB_DISABLE=1") || why.ends_with("without libibverbs's headers")));
}

TEST_CASE("verbs: handshake messages arrive whole and in order", "[transports]") {
  Sockets sockets;
  Handshake writer(std::move(sockets.here));
  Handshake reader(std::move(sockets.there));
  CHECK(!reader.hear());
  const verbs::EndpointAddress address{.number = 7, .sequence = 8, .mtu = 4096, .lid = 3};
  CHECK(writer.say({.kind = HandshakeKind::offer,
                    .slot_bytes = 4096,
                    .slots = 8,
                    .endpoints = std::vector(128, address)}));
  CHECK(writer.say({.kind = HandshakeKind::refusal, .code = ErrorCode::system, .text = "no"}));
  const auto offer = reader.hear();
  REQUIRE(offer);
  CHECK(offer->kind == HandshakeKind::offer);
  CHECK(offer->slot_bytes == 4096);
  CHECK(offer->slots == 8);
  CHECK(offer->endpoints == std::vector(128, address));
  const auto refusal = reader.hear();
  REQUIRE(refusal);
  CHECK(refusal->code == ErrorCode::system);
  CHECK(refusal->text == "no");
  CHECK(!reader.hear());
  CHECK(!reader.ended());
  CHECK(writer.say({.kind = HandshakeKind::goodbye, .frames = 5}));
  writer = {};
  CHECK(reader.hear()->frames == 5);
  CHECK(!reader.hear());
  CHECK(reader.ended());
}

TEST_CASE("verbs: a handshake message in pieces waits, other bytes are an error", "[transports]") {
  Sockets handshake;
  Sockets copy;
  Handshake writer(std::move(handshake.here));
  REQUIRE(writer.say({.kind = HandshakeKind::refusal, .text = "because"}));
  std::array<char, 200> bytes{};
  const ssize_t count = ::read(handshake.there.get(), bytes.data(), bytes.size());
  REQUIRE(count > 40);
  Handshake reader(std::move(copy.there));
  for (ssize_t i = 0; i < count; ++i) {
    CHECK(!reader.hear());
    REQUIRE(::write(copy.here.get(), &bytes[static_cast<std::size_t>(i)], 1) == 1);
  }
  CHECK(reader.hear()->text == "because");
  REQUIRE(::write(copy.here.get(), "GET / HTTP/1.1\r\nHost: somewhere\r\nAccept: */*\r\n\r\n",
                  48) == 48);
  CHECK(failure([&] { reader.hear(); }) ==
        "internal: what arrived on a verbs connection is no handshake message");
}

TEST_CASE("verbs: credits count on over 2^32 and ignore what comes late", "[transports]") {
  Credit credit{.released = 0xfffffffe, .told = 0xfffffffc, .granted = 0xfffffffe};
  CHECK(credit.untold() == 2);
  credit.released += 4;
  CHECK(credit.untold() == 6);
  credit.grant(1);
  CHECK(credit.granted == 1);
  credit.grant(0xffffffff);
  CHECK(credit.granted == 1);
}

}  // namespace rondo::testing
