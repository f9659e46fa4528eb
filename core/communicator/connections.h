// Connections: the transports between this rank and each peer, and what all ranks know of them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "core/communicator/membership.h"
#include "core/plan/choose.h"
#include "core/transport/direct_access.h"
#include "core/transport/doorbell.h"
#include "core/transport/transport.h"

namespace rondo {
struct TransportKind;
}

namespace rondo::detail {

/// What is const may be called from any thread. Transports are moved by who holds the progress
/// lock.
class Connections {
 public:
  /// Collective: picks a transport for each pair, exchanges addresses. Connections are made when
  /// first used.
  Connections(const Membership& membership, const Config& config,
              const std::shared_ptr<ControlChannel>& control);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  const std::vector<Transport*>& by_peer() const { return by_peer_; }
  Transport* to(int peer) const { return by_peer_[static_cast<std::size_t>(peer)]; }
  /// How many transports there are.
  std::size_t kinds() const { return transports_.size(); }
  /// The direct path, where every rank has it to every other one; else null.
  DirectAccess* direct() const { return direct_; }
  /// Before a second thread of this process ends sleeps: where all transports are networks, nobody
  /// else rings, and sleeps are on sockets. Throws Error{system} where there is no descriptor left.
  void expect_threads();
  /// What the transports ring.
  Doorbell& doorbell() { return doorbell_; }
  /// The topology that the choice of an algorithm depends on.
  const Topology& topology() const { return topology_; }
  /// Least slot size of all ranks' channels.
  std::size_t frame_bytes() const { return frame_bytes_; }
  bool looks_are_system_calls() const;
  /// "shm+tcp".
  std::string names() const;
  /// Which transport leads where.
  void log() const;

 private:
  void pick_transports(const Membership& membership, const Config& config);
  Transport* make_transport(const TransportKind& kind, const Membership& membership,
                            const Config& config);
  std::size_t count_networks() const;
  void connect(const std::shared_ptr<ControlChannel>& control);
  void connect_direct(const Config& config, const std::shared_ptr<ControlChannel>& control);

  int rank_;
  Doorbell doorbell_{};
  std::vector<std::unique_ptr<Transport>> transports_{};
  std::vector<Transport*> by_peer_;  ///< own entry null
  Topology topology_{};
  std::size_t frame_bytes_ = 0;
  DirectAccess* direct_ = nullptr;
};

}  // namespace rondo::detail
