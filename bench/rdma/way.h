// The ways by which link_rate's two processes send each other messages: one of rondo's transports, or
// a plain socket.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "bench/floor/team.h"

namespace rondo::bench {

/// One end of the pair. One thread at a time. Errors are exceptions.
class Way {
 public:
  Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  virtual ~Way() = default;

  /// Returns when the message needs `bytes` no more.
  virtual void send(std::span<std::byte> bytes) = 0;
  /// Waits for a message of this length.
  virtual void receive(std::span<std::byte> bytes) = 0;
};

struct WaySettings {
  std::string name{};        ///< "verbs", "tcp" or "socket"
  int queue_pairs = 1;       ///< verbs only
  std::string hca{};         ///< verbs: the device, as RONDO_IB_HCA
  std::string address{};     ///< socket: this end's IPv4 address
  std::string interface {};  ///< tcp: as RONDO_SOCKET_IFNAME
};
/// Connects the two processes. Collective. `meeting` as tell_all()'s.
std::unique_ptr<Way> make_way(Member& member, SharedMemory& meeting, const WaySettings& settings);

}  // namespace rondo::bench
