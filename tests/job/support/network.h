// The stranger on the network: connects to ports and sends bytes that no rank expects.
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/unique_fd.h"

namespace rondo::test {

/// Where a process listens. Listeners on all addresses are given as listeners on the loopback.
std::vector<sockaddr_in6> listeners_of(pid_t process);

/// Throws std::runtime_error when no process listens.
UniqueFd connect_to(const sockaddr_in6& address);
void send_text(const UniqueFd& socket, const std::string& text);
/// Waits for the other side's end of the connection, some seconds at most.
bool is_closed_by_peer(const UniqueFd& socket);

/// A listener that takes connections and never says anything, on a free port of every address.
class SilentListener {
 public:
  SilentListener();
  int port() const { return port_; }

 private:
  UniqueFd socket_;
  int port_ = 0;
};

}  // namespace rondo::test
