#include "tools/rondorun/port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {
namespace {

/// Bound to a free port of every address of both families: with those of IPv4 alone the port would
/// be left to whoever listens on a single address of IPv6. Where there is no IPv6, of IPv4's.
/// Empty: errno says why.
UniqueFd bound_socket() {
  constexpr int on = 1;
  constexpr int off = 0;
  sockaddr_in6 both{};
  both.sin6_family = AF_INET6;
  sockaddr_in only{};
  only.sin_family = AF_INET;
  UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool has_both = static_cast<bool>(socket);
  if (!has_both) socket = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* address = has_both ? reinterpret_cast<const sockaddr*>(&both)
                                 : reinterpret_cast<const sockaddr*>(&only);
  const socklen_t length = has_both ? sizeof both : sizeof only;
  if (!socket ||
      (has_both && ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0) ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), address, length) != 0)
    return {};
  return socket;
}

}  // namespace

PortReservation::PortReservation() : socket_(bound_socket()) {
  sockaddr_in6 address{};
  socklen_t length = sizeof address;
  if (!socket_ || ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw system_error("no free port for MASTER_PORT (give one with --master-port)");
  port_ = ntohs(address.sin6_port);  // it lies where IPv4's does
}

}  // namespace rondo::launch
