// The bootstrap service: where the ranks of a job find each other, and the coordinator afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/fork.h"
#include "core/base/unique_fd.h"
#include "core/control/control.h"
#include "core/control/message.h"

namespace rondo::control {

/// What a rank needs to serve a job whose coordinator is lost.
struct Takeover {
  UniqueFd listening{};  ///< where the other ranks expect it
  HostInfo host{};       ///< this process
  Secret secret{};
  std::vector<HostInfo> hosts{};  ///< of the world
  std::vector<Standby> standbys{};
  std::vector<int> dead{};  ///< ranks whose processes are known to have died
  std::vector<int> left{};  ///< and those that have ended in order
};

/// A listening socket and a thread. Whoever does not know the job's secret is a stranger: other programs
/// and scanners, another job's ranks, those that say nothing. Their connections end and are logged,
/// and disturb neither the bootstrap nor the job. Strangers wait 5 s at most and 64 at a time beside
/// the ranks that are still to come; the oldest go first.
class Service {
 public:
  /// Listens as Listener does; port 0: a free one. `host` is this process. `ranks`: of the world;
  /// 0: the first rank that comes says it. Throws Error{bootstrap} when the port is in use.
  Service(const BootstrapPoint& point, const HostInfo& host, int ranks = 0);
  /// Goes on for a service that is lost, with the ranks that come; see roll_call.h.
  explicit Service(Takeover takeover);
  /// As let_others_leave(), unless that was called. Then it goes, and a rank that is still there
  /// serves the others. Does nothing in a child by fork(), which has none of the
  /// threads and shares the descriptors that wake the parent's.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Where this process reaches it.
  std::string address() const;
  std::uint16_t port() const;
  /// Gives the ranks of other processes up to `linger` to leave. Those that stay are told that the
  /// service may end at any moment from here on, however this process ends, and that this is no
  /// loss. Until then it serves them.
  void let_others_leave();
  /// All ranks had joined, and all have left: no rank needs the service any more, and its port is
  /// free. Any thread.
  bool is_over() const;

 private:
  class Server;
  const MakerProcess maker_;
  std::unique_ptr<Server> server_;
};

}  // namespace rondo::control
