#include "tests/job/support/network.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>

#include "tests/tools/rondorun/support/process.h"

namespace rondo::test {
namespace {

namespace fs = std::filesystem;

/// "0100007F:1F90" or 32 digits before the colon: words of the address as this machine stores them.
sockaddr_in6 parse_address(const std::string& text) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  const auto colon = text.find(':');
  address.sin6_port =
      htons(static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1), nullptr, 16)));
  // An IPv4 address is mapped into IPv6, so that one kind of socket serves for both.
  std::array<std::uint32_t, 4> words{0, 0, htonl(0xffff), 0};
  const std::size_t digits = std::min<std::size_t>(colon, 32);
  for (std::size_t at = 0; at < digits; at += 8)
    words[4 - digits / 8 + at / 8] =
        static_cast<std::uint32_t>(std::stoul(text.substr(at, 8), nullptr, 16));
  if (words[3] == 0) words = {0, 0, htonl(0xffff), htonl(INADDR_LOOPBACK)};
  std::memcpy(&address.sin6_addr, words.data(), sizeof words);
  return address;
}

/// Adds the inode and address of each listening socket in the kernel's table of TCP sockets.
void add_listeners(const std::string& table, std::map<std::string, sockaddr_in6>& listeners) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
        timeout >> inode;
    if (state == "0A") listeners[inode] = parse_address(local);
  }
}

}  // namespace

std::vector<sockaddr_in6> listeners_of(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::map<std::string, sockaddr_in6> listeners;
  add_listeners(read_file(folder + "/net/tcp"), listeners);
  add_listeners(read_file(folder + "/net/tcp6"), listeners);
  std::vector<sockaddr_in6> found;
  for (const auto& entry : fs::directory_iterator(folder + "/fd")) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone);
    if (target.rfind("socket:[", 0) != 0) continue;
    const auto listener = listeners.find(target.substr(8, target.size() - 9));
    if (listener != listeners.end()) found.push_back(listener->second);
  }
  return found;
}

UniqueFd connect_to(const sockaddr_in6& address) {
  UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("nobody listens on port " + std::to_string(ntohs(address.sin6_port)));
  return socket;
}

void send_text(const UniqueFd& socket, const std::string& text) {
  // The other side may hang up before it has read everything: that is its right.
  [[maybe_unused]] const auto sent = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

bool is_closed_by_peer(const UniqueFd& socket) {
  std::array<char, 4096> bytes;
  for (;;) {
    pollfd descriptor{socket.get(), POLLIN, 0};
    if (::poll(&descriptor, 1, 5000) <= 0) return false;
    if (::recv(socket.get(), bytes.data(), bytes.size(), 0) <= 0) return true;
  }
}

SilentListener::SilentListener() : socket_(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  socklen_t length = sizeof address;
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(socket_.get(), 64) != 0)
    throw std::runtime_error("cannot listen");
  ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin6_port);
}

}  // namespace rondo::test
