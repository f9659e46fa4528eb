#include "core/transport/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

namespace rondo::unix_socket {
namespace {

constexpr std::size_t most_descriptors = 4;

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

// A leading zero byte makes the name abstract; its length, not a terminator, ends it.
Address abstract_address(const std::string& name) {
  Address address;
  address.name.sun_family = AF_UNIX;
  const std::size_t bytes = std::min(name.size(), sizeof(address.name.sun_path) - 1);
  std::memcpy(address.name.sun_path + 1, name.data(), bytes);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  return address;
}

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// SOCK_SEQPACKET keeps messages whole.
UniqueFd make_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) throw_errno("cannot make a Unix socket");
  return socket;
}

std::vector<UniqueFd> take_descriptors(msghdr& header) {
  std::vector<UniqueFd> descriptors;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(descriptor);
    }
  }
  return descriptors;
}

}  // namespace

std::string new_name() {
  std::random_device random;
  std::string name = "rondo-";
  for (int i = 0; i < 4; ++i) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (auto bits = random(), digit = 0U; digit < 8; ++digit, bits >>= 4)
      name += digits[bits & 15];
  }
  return name;
}

UniqueFd listen_on(const std::string& name) {
  UniqueFd socket = make_socket();
  const Address address = abstract_address(name);
  if (::bind(socket.get(), address.get(), address.length) != 0) throw_errno("cannot bind");
  if (::listen(socket.get(), SOMAXCONN) != 0) throw_errno("cannot listen");
  return socket;
}

std::optional<UniqueFd> connect_to(const std::string& name) {
  UniqueFd socket = make_socket();
  const Address address = abstract_address(name.substr(0, name.find(' ')));
  if (::connect(socket.get(), address.get(), address.length) == 0) return socket;
  if (errno == EAGAIN || errno == EINTR) return std::nullopt;
  throw_errno("cannot connect");
}

std::optional<UniqueFd> accept_from(const UniqueFd& listener) {
  UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) return socket;
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) throw_errno("cannot accept");
  return std::nullopt;
}

bool same_user(const UniqueFd& socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
         credentials.uid == ::geteuid();
}

bool send(const UniqueFd& socket, std::span<const std::byte> message, std::span<const int> passed) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(most_descriptors * sizeof(int))> control{};
  iovec part{const_cast<std::byte*>(message.data()), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!passed.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(passed.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(passed.size_bytes());
    std::memcpy(CMSG_DATA(rights), passed.data(), passed.size_bytes());
  }
  return ::sendmsg(socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

Received receive(const UniqueFd& socket, std::span<std::byte> buffer) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(most_descriptors * sizeof(int))> control{};
  iovec part{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t bytes =
      ::recvmsg(socket.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
  Received received;
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return received;
  if (bytes <= 0) {
    received.state = Received::State::closed;
    return received;
  }
  received.state = Received::State::message;
  received.bytes = static_cast<std::size_t>(bytes);
  received.descriptors_lost = (header.msg_flags & MSG_CTRUNC) != 0;
  received.descriptors = take_descriptors(header);
  return received;
}

}  // namespace rondo::unix_socket
