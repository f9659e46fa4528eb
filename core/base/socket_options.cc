#include "core/base/socket_options.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>

namespace rondo {

void set_socket_options(int descriptor) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof(value));
  };
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void end_where_unanswered(int descriptor) {
  const int milliseconds = 25000;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}

bool is_path_broken(int descriptor) {
  constexpr std::uint32_t longest = 28000;  // past the retry of an outage that lasts 13 to 25 s
  tcp_info info{};
  socklen_t length = sizeof(info);
  return ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_unacked > 0 && info.tcpi_last_ack_recv > longest;
}

}  // namespace rondo
