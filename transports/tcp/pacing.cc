#include "transports/tcp/pacing.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <string_view>

namespace rondo::tcp {
namespace {

constexpr std::string_view unpaced = "reno";

std::string congestion_control(int descriptor) {
  std::array<char, 64> name{};
  socklen_t size = name.size() - 1;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) != 0) return {};
  return name.data();
}

bool set_congestion_control(int descriptor, std::string_view name) {
  return ::setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

}  // namespace

void Pacing::begin(int descriptor) {
  usual_ = congestion_control(descriptor);
  // It must be possible to go back: some names are for administrators only.
  if (usual_.empty() || !set_congestion_control(descriptor, usual_) ||
      !set_congestion_control(descriptor, unpaced))
    usual_.clear();
}

void Pacing::settle(int descriptor, bool stays_on_machine) const {
  if (!usual_.empty() && !stays_on_machine) set_congestion_control(descriptor, usual_);
}

}  // namespace rondo::tcp
