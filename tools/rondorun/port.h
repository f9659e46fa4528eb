// A free TCP port for the bootstrap of the ranks.
#pragma once

#include <cstdint>

#include "core/base/unique_fd.h"

namespace rondo::launch {

/// Reserves a port, on every IPv4 and IPv6 address, for as long as it lives. It does not listen.
///
/// The socket stays bound with SO_REUSEADDR set. Linux gives a bound port neither to a bind() to
/// port 0 nor to an outgoing connection, so two launches cannot get the same one. But another
/// socket with SO_REUSEADDR set may bind the same port by number and listen, because this one does
/// not listen. So the port cannot be lost between choosing and using it.
class PortReservation {
 public:
  /// Throws LaunchError when no port is free.
  PortReservation();
  std::uint16_t port() const { return port_; }

 private:
  UniqueFd socket_;
  std::uint16_t port_ = 0;
};

}  // namespace rondo::launch
