// TCP over IPv4 by plain system calls: what no library can be faster than. Errors are
// std::system_error.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>

#include "core/base/unique_fd.h"

namespace rondo::bench {

inline constexpr const char* loopback = "127.0.0.1";

inline int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::system_category(), what);
  return result;
}

inline sockaddr_in endpoint(const std::string& address, int port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, address.c_str(), &place.sin_addr) != 1)
    throw std::invalid_argument("'" + address + "' is no IPv4 address");
  return place;
}

/// At a port that the kernel chooses.
inline UniqueFd bound_socket(const std::string& address) {
  UniqueFd socket(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  const sockaddr_in here = endpoint(address, 0);
  checked(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here), "bind");
  return socket;
}

inline UniqueFd listening_socket(const std::string& address) {
  UniqueFd socket = bound_socket(address);
  checked(::listen(socket.get(), SOMAXCONN), "listen");
  return socket;
}

inline int port_of(const UniqueFd& socket) {
  sockaddr_in here{};
  socklen_t length = sizeof here;
  checked(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &length), "getsockname");
  return ntohs(here.sin_port);
}

/// Bound too, so that packets go between these two addresses.
inline UniqueFd connected_socket(const std::string& from, const std::string& to, int port) {
  UniqueFd socket = bound_socket(from);
  const sockaddr_in there = endpoint(to, port);
  checked(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there),
          "connect");
  return socket;
}

inline UniqueFd accepted_socket(const UniqueFd& listener) {
  return UniqueFd(checked(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
}

/// Nothing is delayed, and nothing waits.
inline void prepare(const UniqueFd& socket) {
  const int yes = 1;
  checked(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
  checked(::fcntl(socket.get(), F_SETFL, O_NONBLOCK), "O_NONBLOCK");
}

/// Bytes that went; 0 where it would have to wait. At most so much at once that both directions
/// advance together. `memory` is written to unless `sends`.
inline std::size_t move_some(int socket, std::byte* memory, std::size_t bytes, bool sends) {
  constexpr std::size_t most_at_once = std::size_t{256} << 10;
  const std::size_t part = std::min(most_at_once, bytes);
  const ssize_t moved =
      sends ? ::send(socket, memory, part, MSG_NOSIGNAL) : ::recv(socket, memory, part, 0);
  if (moved == 0) throw std::runtime_error("the other process closed its socket");
  if (moved < 0 && errno != EAGAIN && errno != EINTR) checked(-1, sends ? "send" : "receive");
  return moved < 0 ? 0 : static_cast<std::size_t>(moved);
}

}  // namespace rondo::bench
