// A free TCP port for the ranks to meet at.
#pragma once

#include <cstdint>

#include "core/base/unique_fd.h"

namespace rondo::launch {

/// Keeps a port of every address, of IPv4 and IPv6, from every other program for as long as it
/// lives, without listening on it.
///
/// The socket stays bound with SO_REUSEADDR set. Linux never gives a bound port to another bind()
/// to port 0 nor to an outgoing connection, so two launches cannot be given the same one; yet
/// another socket with SO_REUSEADDR set may bind the same port by number and listen, since this one
/// does not listen. So there is no moment between choosing and using in which the port could be
/// lost.
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
