// What transports read from a peer: addresses of TCP, ports of the verbs, and the verbs' handshake.
#include <sys/socket.h>

#include <array>
#include <string>

#include "core/base/unique_fd.h"
#include "rondo/error.h"
#include "tests/fuzz/input.h"
#include "transports/tcp/contact.h"
#include "transports/verbs/handshake.h"
#include "transports/verbs/reach.h"

namespace rondo::fuzz {
namespace {

void read_contact(std::string_view text) {
  try {
    const tcp::Contact contact = tcp::parse_contact(text);
    const std::string written = to_text(contact);
    demand(must_read([&] { return tcp::parse_contact(written); }) == contact,
           "an address is read as it was written");
    demand(share_machine(contact, contact), "a machine is its own");
    const tcp::Contact other{.endpoints = {{"10.0.0.1", 1, 24}, {"fd00::1", 1, 64}}};
    demand(!for_socket(contact, other, 1).endpoints.empty(), "some address is left");
  } catch (const Error&) {
  }
}

void read_ports(std::string_view text) {
  try {
    const auto ports = verbs::parse_ports(text);
    const std::string written = verbs::to_text(ports);
    demand(must_read([&] { return verbs::parse_ports(written); }) == ports,
           "a port is read as it was written");
    static_cast<void>(verbs::choose_port(ports, ports, 1));
    static_cast<void>(verbs::why_apart(ports, ports));
  } catch (const Error&) {
  }
}

void hear_all(verbs::Handshake& handshake) {
  while (const auto message = handshake.hear()) {
    for (const verbs::EndpointAddress& each : message->endpoints)
      static_cast<void>(to_text(gid_of(each)));
  }
}

void read_handshake(Input& input) {
  std::array<int, 2> pair{};
  demand(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0, "a socket pair");
  UniqueFd peer(pair[0]);
  verbs::Handshake handshake{UniqueFd(pair[1])};
  try {
    input.in_pieces([&](std::string_view piece) {
      demand(::send(peer.get(), piece.data(), piece.size(), MSG_DONTWAIT) ==
                 static_cast<ssize_t>(piece.size()),
             "a piece fits into the socket");
      hear_all(handshake);
    });
    peer.reset();
    hear_all(handshake);
    demand(handshake.ended(), "the end is noticed");
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace rondo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rondo;
  fuzz::Input input(data, size);
  switch (input.choice(3)) {
    case 0:
      fuzz::read_contact(input.rest());
      break;
    case 1:
      fuzz::read_ports(input.rest());
      break;
    default:
      fuzz::read_handshake(input);
  }
  return 0;
}
