#include "core/base/socket_options.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

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
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 25000);
}

}  // namespace rondo
