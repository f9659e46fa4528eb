// Peers of a rank's TCP transport, played by hand.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <span>
#include <string>
#include <utility>

#include "core/base/unique_fd.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/transports/world.h"
#include "transports/tcp/contact.h"

namespace rondo::testing {

inline Variant tcp_variant() { return {"tcp", find_transport("tcp")}; }

inline UniqueFd connect_to(const tcp::Endpoint& endpoint) {
  UniqueFd socket;
  if (endpoint.address.find(':') == std::string::npos) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(endpoint.port);
    ::inet_pton(AF_INET, endpoint.address.c_str(), &to.sin_addr);
    socket = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0);
  } else {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(endpoint.port);
    ::inet_pton(AF_INET6, endpoint.address.c_str(), &to.sin6_addr);
    socket = UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0);
  }
  return socket;
}

inline void write_bytes(const UniqueFd& socket, std::span<const std::byte> bytes) {
  CHECK(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(bytes.size()));
}

/// Somebody to connect to through the loopback.
struct Listener {
  Listener() {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(here);
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&here), length) == 0);
    REQUIRE(::listen(socket.get(), 1) == 0);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &length) == 0);
    endpoint = {"127.0.0.1", ntohs(here.sin_port)};
  }
  UniqueFd accept() const { return UniqueFd(::accept(socket.get(), nullptr, nullptr)); }

  UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  tcp::Endpoint endpoint{};
};

/// Says a hello as somebody does who knows `secret`.
inline void say_hello(const UniqueFd& socket, const tcp::Hello& hello, const Secret& secret = {}) {
  const tcp::SignedHello said = tcp::sign(secret, hello);
  write_bytes(socket, std::as_bytes(std::span(&said, 1)));
}

/// The rank's side of a connection that it makes to `peer`, played here: takes it and answers.
inline UniqueFd take_connection(Transport& transport, const Listener& peer,
                                const Secret& secret = {}) {
  const auto is_readable = [](const UniqueFd& socket, int least) {
    int bytes = 0;
    pollfd entry{.fd = socket.get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1 &&
           (least == 0 || (::ioctl(socket.get(), FIONREAD, &bytes) == 0 && bytes >= least));
  };
  const auto progress_until = [&](const UniqueFd& socket, int least) {
    wait_until([&] {
      transport.progress();
      return is_readable(socket, least);
    });
  };
  progress_until(peer.socket, 0);
  UniqueFd accepted = peer.accept();
  tcp::SignedHello heard;
  progress_until(accepted, sizeof(heard));
  REQUIRE(::recv(accepted.get(), &heard, sizeof(heard), 0) == sizeof(heard));
  CHECK(tcp::is_genuine(heard, Secret{}));
  const Proof proof = tcp::answer(secret, heard.hello);
  write_bytes(accepted, std::as_bytes(std::span(proof)));
  return accepted;
}

template <class Body>
std::string failure(Body body) {
  try {
    wait_until(body);
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.message();
  }
  return "none";
}

}  // namespace rondo::testing
