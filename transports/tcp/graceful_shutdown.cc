#include "transports/tcp/graceful_shutdown.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rondo::tcp {
namespace {

// Counted in rounds, not by a clock: a process that was stopped meanwhile has not waited.
constexpr int longest_wait_ms = 2000;
constexpr std::size_t scrap_bytes = std::size_t{64} << 10;
/// Reads of one connection at a time. A peer that sends without end must not hold up the others.
constexpr int most_reads = 4;

/// Bytes that the peer's kernel has not acknowledged.
bool delivered(int socket) {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) != 0 || bytes == 0;
}

/// False at the stream's end, or when it broke.
bool drain(int socket) {
  std::array<std::byte, scrap_bytes> scrap;
  ssize_t got = 1;
  for (int reads = 0; got > 0 && reads < most_reads; ++reads)
    got = ::recv(socket, scrap.data(), scrap.size(), MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

void deliver(std::vector<Connection> left) noexcept {
  std::erase_if(left, [](const Connection& connection) { return delivered(connection->get()); });
  for (const Connection& connection : left) ::shutdown(connection->get(), SHUT_WR);
  for (int waited = 0; waited < longest_wait_ms && !left.empty(); ++waited) {
    std::erase_if(left, [](const Connection& connection) {
      return !drain(connection->get()) || delivered(connection->get());
    });
    // Acknowledgements raise no event, so there is nothing to wait for but time.
    if (!left.empty()) ::poll(nullptr, 0, 1);
  }
}

}  // namespace rondo::tcp
