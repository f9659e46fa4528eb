#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "bench/rdma/wire.h"
#include "core/base/unique_fd.h"
#include "rondo/error.h"

namespace rondo::bench {
namespace {

[[noreturn]] void fail(const char* action) {
  throw Error(ErrorCode::system, std::string(action) + ": " + std::strerror(errno));
}

sockaddr_in endpoint(const std::string& address, std::uint16_t port) {
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &there.sin_addr) != 1)
    throw Error(ErrorCode::configuration, "'" + address + "' is no IPv4 address");
  return there;
}

UniqueFd bound_socket(const std::string& address) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) fail("making a socket");
  const sockaddr_in here = endpoint(address, 0);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0)
    fail("binding a socket");
  return socket;
}

std::uint16_t port_of(const UniqueFd& socket) {
  sockaddr_in here{};
  socklen_t length = sizeof here;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &length) != 0)
    fail("asking for a port");
  return ntohs(here.sin_port);
}

/// Rank 1 listens. Both are bound, so that the packets cross the cable between the addresses.
UniqueFd connected_socket(const WireSettings& settings) {
  UniqueFd socket = bound_socket(settings.address);
  if (settings.rank == 1) {
    if (::listen(socket.get(), 1) != 0) fail("listening");
    swap_texts(settings, settings.address + " " + std::to_string(port_of(socket)));
    UniqueFd accepted(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!accepted) fail("accepting a connection");
    return accepted;
  }
  const std::string text = swap_texts(settings, settings.address);
  const std::size_t space = text.find(' ');
  const sockaddr_in there = endpoint(text.substr(0, space),
                                     static_cast<std::uint16_t>(std::stoi(text.substr(space + 1))));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0)
    fail("connecting");
  return socket;
}

/// Plain system calls on one connection without delays: the best that tcp can do here. It polls
/// without sleeping, as rondo and perftest do.
class SocketWire final : public Wire {
 public:
  explicit SocketWire(const WireSettings& settings) : socket_(connected_socket(settings)) {
    const int on = 1;
    if (::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
      fail("setting TCP_NODELAY");
  }

  void send(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t sent =
          ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (!moved(sent, "sending")) continue;
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }

  void receive(std::span<std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got == 0) throw Error(ErrorCode::peer_lost, "the other process has ended");
      if (!moved(got, "receiving")) continue;
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
  }

 private:
  bool moved(ssize_t result, const char* action) {
    if (result >= 0) return true;
    if (errno != EAGAIN && errno != EINTR) fail(action);
    if (++spins_ % 256 == 0) ::sched_yield();
    return false;
  }

  UniqueFd socket_;
  unsigned spins_ = 0;
};

}  // namespace

std::unique_ptr<Wire> make_socket_wire(const WireSettings& settings) {
  return std::make_unique<SocketWire>(settings);
}

}  // namespace rondo::bench
