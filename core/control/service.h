// The bootstrap service: where the ranks of a job find each other, and the coordinator afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "core/base/fork.h"
#include "core/control/control.h"

namespace rondo::control {

/// A listening socket and a thread. It refuses and logs connections of other programs and scanners,
/// of another job's ranks, and those that say nothing. They never disturb the bootstrap.
class Service {
 public:
  /// Listens on all interfaces, IPv4 and IPv6; of `point` the address is not read. Port 0: a free
  /// one. Magic 0: the port's default. `host` is this process. Throws Error{bootstrap} when the
  /// port is in use.
  Service(const BootstrapPoint& point, const HostInfo& host);
  /// As let_others_leave(), unless that was called. Then it goes, and the communicators of ranks
  /// that are still there go on without it. Does nothing in a child by fork(), which has none of the
  /// threads and shares the descriptors that wake the parent's.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  std::uint16_t port() const;
  /// Gives the ranks of other processes up to `linger` to leave. Those that stay are told that the
  /// service may end at any moment from here on, however this process ends, and that this is no
  /// loss. Until then it serves them.
  void let_others_leave();
  /// All ranks had joined, and all have left: no rank needs the service any more, and its port is
  /// free. Any thread.
  bool is_over() const;
  static constexpr std::chrono::milliseconds linger{3000};

 private:
  class Server;
  const MakerProcess maker_;
  std::unique_ptr<Server> server_;
};

/// The magic number of jobs without a unique id. Any constant would do; the port in it tells two
/// jobs on different ports apart.
constexpr std::uint64_t default_magic(std::uint16_t port) {
  return 0x72'6f'6e'64'6f'00'00'00ULL + port;
}

}  // namespace rondo::control
