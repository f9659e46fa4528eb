// Abstract-namespace Unix sockets that carry whole messages and file descriptors.
// Nothing here blocks, and nothing leaves a name behind: an abstract name dies with its socket.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"

namespace rondo::unix_socket {

/// A random name, which no other process has.
std::string new_name();
/// Throws std::system_error when no socket can be had.
UniqueFd listen_on(const std::string& name);
/// A connected socket. The name ends at the first blank; the rest is for others. nullopt when the
/// listener's queue is full (try again). Errors by std::system_error, ECONNREFUSED when no process
/// listens.
std::optional<UniqueFd> connect_to(const std::string& name);
/// The next connection, or nullopt. Throws std::system_error when out of descriptors.
std::optional<UniqueFd> accept_from(const UniqueFd& listener);

/// True when the process at the other end runs as this process's user.
bool same_user(const UniqueFd& socket);

/// False when the message could not be taken now, or the peer is gone (receive() will tell).
bool send(const UniqueFd& socket, std::span<const std::byte> message, std::span<const int> passed);

struct Received {
  enum class State { nothing, message, closed } state = State::nothing;
  std::size_t bytes = 0;  ///< of the message, even where it is longer than the buffer
  bool descriptors_lost = false;
  std::vector<UniqueFd> descriptors{};
};
Received receive(const UniqueFd& socket, std::span<std::byte> buffer);

}  // namespace rondo::unix_socket
