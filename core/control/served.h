// The bootstrap services of this process. One serves its ranks' world until the process exits, even
// after its own ranks have left. Private to core/control.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/control/service.h"

namespace rondo::control {

/// Any thread.
class Served : public std::enable_shared_from_this<Served> {
 public:
  static const std::shared_ptr<Served>& all();

  /// From here on the process keeps the service, until all its ranks have joined and left.
  void add(const BootstrapPoint& point, std::shared_ptr<Service> service);
  /// The service that was added for this unique id. Null: another process serves the point.
  std::shared_ptr<Service> at(const BootstrapPoint& point);
  /// A rank of this process has met the others. It holds what this returns until it leaves; the last
  /// one gives the other processes' ranks time to leave, too. Adds the service where add() did not.
  std::shared_ptr<Service> join(const BootstrapPoint& point, std::shared_ptr<Service> service);
  /// Ends services on this port whose ranks in this process have left.
  void end_unused(std::uint16_t port);

 private:
  struct Entry {
    Secret id;  ///< the secret of a unique id; else none
    std::shared_ptr<Service> service;
    std::weak_ptr<Service> ranks;  ///< what join() returned
  };
  void keep(const BootstrapPoint& point, std::shared_ptr<Service> service);
  void end_over();

  std::mutex mutex_;
  std::vector<Entry> entries_{};  ///< under mutex_
};

}  // namespace rondo::control
