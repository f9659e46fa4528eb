// A connection whose path breaks must end, whatever the job's deadline.
#include "core/base/socket_options.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "core/base/unique_fd.h"
#include "tests/catch.h"

namespace rondo {
namespace {

int option(const UniqueFd& socket, int level, int name) {
  int value = -1;
  socklen_t length = sizeof(value);
  REQUIRE(::getsockopt(socket.get(), level, name, &value, &length) == 0);
  return value;
}

TEST_CASE(
    "a connection ends 25 s after its path has broken; one that sends only if it asks for it") {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  set_socket_options(socket.get());
  CHECK(option(socket, SOL_SOCKET, SO_KEEPALIVE) == 1);
  const int probes = option(socket, IPPROTO_TCP, TCP_KEEPCNT);
  const int between = option(socket, IPPROTO_TCP, TCP_KEEPINTVL);
  CHECK(option(socket, IPPROTO_TCP, TCP_KEEPIDLE) + probes * between == 25);
  CHECK(option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT) == 0);
  CHECK(option(socket, IPPROTO_TCP, TCP_NODELAY) == 1);
  CHECK_FALSE(is_path_broken(socket.get()));
  end_where_unanswered(socket.get());
  CHECK(option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT) == 25000);
  CHECK((::fcntl(socket.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

}  // namespace
}  // namespace rondo
