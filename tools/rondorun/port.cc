#include "tools/rondorun/port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {

PortReservation::PortReservation() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket_ || ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket_.get(), generic, length) != 0 ||
      ::getsockname(socket_.get(), generic, &length) != 0)
    throw system_error("no free port for MASTER_PORT (give one with --master-port)");
  port_ = ntohs(address.sin_port);
}

}  // namespace rondo::launch
