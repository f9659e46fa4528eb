// A port for a test's own service.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <random>

#include "core/base/unique_fd.h"

namespace rondo {

/// A port that nobody listens on, below the range that the kernel hands out to outgoing
/// connections: no connection of a test beside this one can take it before it is used.
inline int free_port() {
  std::random_device random;
  std::uniform_int_distribution<int> candidates(20000, 31999);
  for (;;) {
    const int port = candidates(random);
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return port;
  }
}

}  // namespace rondo
