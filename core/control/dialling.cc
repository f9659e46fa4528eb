#include "core/control/dialling.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

#include "core/control/times.h"

namespace rondo::control {
namespace {

/// Connections that wait in the kernel: all ranks may come at once, beside strangers.
constexpr int most_waiting = 4096;

std::string system_message(int number) { return std::generic_category().message(number); }

/// On one machine a connection to a free port can reach itself, when the kernel picks that very
/// port for its own end.
bool is_connected_to_itself(int descriptor) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_length = sizeof(here);
  socklen_t there_length = sizeof(there);
  return ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&here), &here_length) == 0 &&
         ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&there), &there_length) == 0 &&
         here_length == there_length && std::memcmp(&here, &there, here_length) == 0;
}

[[noreturn]] void throw_refusal(int error) {
  if (error == ECONNREFUSED) throw NobodyThere(system_message(error));
  throw Unreachable(system_message(error));
}

UniqueFd connect_to(const addrinfo& target, const Limit& limit) {
  UniqueFd socket(::socket(target.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket && (errno == EMFILE || errno == ENFILE)) throw no_descriptors();
  if (!socket) throw Unreachable(system_message(errno));
  if (::connect(socket.get(), target.ai_addr, target.ai_addrlen) != 0 && errno != EINPROGRESS) {
    throw_refusal(errno);
  }
  if (!wait_for(socket.get(), POLLOUT, limit)) throw Unreachable("no answer");
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) throw_refusal(error);
  if (is_connected_to_itself(socket.get())) throw_refusal(ECONNREFUSED);
  return socket;
}

}  // namespace

Error no_descriptors() {
  return {ErrorCode::system,
          "out of file descriptors while joining the other ranks",
          {.remedy = "raise the limit of open files (ulimit -n)"}};
}

bool wait_for(int descriptor, short events, const Limit& limit) {
  for (;;) {
    std::array<pollfd, 2> entries{pollfd{.fd = descriptor, .events = events, .revents = 0},
                                  pollfd{.fd = limit.given_up, .events = POLLIN, .revents = 0}};
    const int ready =
        ::poll(entries.data(), entries.size(), static_cast<int>(until(limit.deadline).count()));
    if (ready > 0 && entries[1].revents != 0) throw GivenUp{};
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) throw TryAgain(system_message(errno));
  }
}

UniqueFd connect_to(const BootstrapPoint& point, const Limit& limit) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* head = nullptr;
  const int status = ::getaddrinfo(meeting_address(point).c_str(),
                                   std::to_string(point.port).c_str(), &hints, &head);
  if (status != 0) {
    throw Unreachable("the name " + point.address + " is not known: " + ::gai_strerror(status));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(head, &::freeaddrinfo);
  for (const addrinfo* target = head;; target = target->ai_next) {
    try {
      return connect_to(*target, limit.at_most(times::for_address));
    } catch (const TryAgain&) {
      if (target->ai_next == nullptr) throw;
    }
  }
}

void send_all(int descriptor, std::string_view bytes, const Limit& limit) {
  while (!bytes.empty()) {
    const auto sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      throw TryAgain(system_message(errno));
    } else if (!wait_for(descriptor, POLLOUT, limit)) {
      throw TryAgain("it accepts no data");
    }
  }
}

bool receive_some(int descriptor, FrameReader& reader, const Limit& limit) {
  if (!wait_for(descriptor, POLLIN, limit)) return false;
  std::array<char, std::size_t{1} << 16> bytes{};
  const auto count = ::recv(descriptor, bytes.data(), bytes.size(), 0);
  if (count == 0) throw TryAgain("it closed the connection");
  if (count > 0) {
    reader.feed({bytes.data(), static_cast<std::size_t>(count)});
  } else if (errno != EAGAIN && errno != EINTR) {
    throw TryAgain(system_message(errno));
  }
  return true;
}

std::optional<Standby> place_of(int connection, decltype(&::getsockname) look) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (look(connection, address, &length) != 0 ||
      ::getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return std::nullopt;
  return Standby{.address = host.data(),
                 .port = static_cast<std::uint16_t>(std::atoi(port.data()))};
}

UniqueFd listen_beside(int connection, Standby& standby) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  if (::getsockname(connection, address, &length) != 0) return {};
  // Both families have it at this place.
  reinterpret_cast<sockaddr_in*>(address)->sin_port = 0;
  UniqueFd socket(::socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket || ::bind(socket.get(), address, length) != 0 ||
      ::listen(socket.get(), most_waiting) != 0)
    return {};
  const auto place = place_of(socket.get(), &::getsockname);
  if (!place) return {};
  standby = *place;
  return socket;
}
static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));

}  // namespace rondo::control
