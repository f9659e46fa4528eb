// The meeting service: where the ranks of a job come together, and the hub between them afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "core/base/fork.h"
#include "core/control/control.h"

namespace rondo::control {

/// A listening socket and a thread. Strangers (other programs, scanners, another job's ranks,
/// connections that say nothing) are turned away and logged; they never disturb the meeting.
class Service {
 public:
  /// Listens on all interfaces, IPv4 and IPv6; of `point` the address is not read. Port 0: a free
  /// one. Magic 0: the port's default. `host` is this process. Throws Error{bootstrap} when the
  /// port is in use.
  Service(const MeetingPoint& point, const HostInfo& host);
  /// Gives the ranks that are still there up to `linger` to leave, then tells them that the service
  /// goes; theirs goes on without it. Nothing of that in a child by fork(), which has none of the
  /// threads and shares what wakes the parent's.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  std::uint16_t port() const;
  /// All ranks had come, and all have left: nobody needs the service any more. Any thread.
  bool is_over() const;
  static constexpr std::chrono::milliseconds linger{3000};

 private:
  class Room;
  const MakerProcess maker_;
  std::unique_ptr<Room> room_;
};

/// What ranks of a job without a unique id greet each other with.
/// Any constant would do; the port in it keeps apart what strays between two jobs' ports.
constexpr std::uint64_t default_magic(std::uint16_t port) {
  return 0x72'6f'6e'64'6f'00'00'00ULL + port;
}

}  // namespace rondo::control
