// Congestion control of the tcp transport's connections.
#include "transports/tcp/pacing.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "core/base/unique_fd.h"
#include "tests/catch.h"

namespace rondo::testing {
namespace {

std::string congestion_control(const UniqueFd& socket) {
  std::array<char, 64> name{};
  socklen_t size = name.size() - 1;
  REQUIRE(::getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) == 0);
  return name.data();
}

bool may_choose(const UniqueFd& socket, const std::string& name) {
  return ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

// A connection that has once been paced stays so. So both ends must begin with Reno. They take the
// machine's own choice only where the connection leaves the machine.
TEST_CASE("tcp: connections within a machine are never paced", "[transports]") {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string usual = congestion_control(socket);
  if (!may_choose(socket, "reno") || !may_choose(socket, usual)) {
    WARN("not tried: this process may not choose how connections are paced (or QEMU emulates it)");
    return;
  }
  tcp::Pacing pacing;
  pacing.begin(socket.get());
  CHECK(congestion_control(socket) == "reno");
  pacing.settle(socket.get(), true);
  CHECK(congestion_control(socket) == "reno");
  pacing.settle(socket.get(), false);
  CHECK(congestion_control(socket) == usual);
}

}  // namespace
}  // namespace rondo::testing
