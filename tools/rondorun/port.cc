#include "tools/rondorun/port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {
namespace {

/// A socket bound to a free port on every address of both families. If it were bound to IPv4 alone,
/// a program that listens on one IPv6 address could take the port. Without IPv6 it is bound to
/// IPv4. Empty: errno says why.
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
