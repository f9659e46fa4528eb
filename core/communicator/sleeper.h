// Sleeper: how the holder of the progress lock sleeps when nothing moves, and what ends its sleep.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "core/communicator/connections.h"
#include "core/execute/engine.h"

namespace rondo::detail {

class Sleeper {
 public:
  /// Both outlive it.
  Sleeper(Engine& engine, Connections& connections);

  /// For the holder of the progress lock, before a second thread is started: its sleeps on sockets
  /// can be ended from here on. Throws Error{system} where the process has no descriptor left.
  void expect_threads() { connections_.expect_threads(); }
  /// For the holder: looks once more, then sleeps a little. True when something moved.
  bool sleep();

  /// Any thread: it asks for the lock, and does so no more.
  void announce() noexcept {
    // A hint for the progress thread, which gives way; the lock orders everything else.
    // Sequentially consistent with its look before it sleeps.
    callers_.fetch_add(1, std::memory_order_seq_cst);
    interrupt();
  }
  void withdraw() noexcept { callers_.fetch_sub(1, std::memory_order_relaxed); }
  /// Some thread asks for the lock.
  bool is_announced() const { return callers_.load(std::memory_order_relaxed) > 0; }
  /// Any thread: the holder looks again, and soon.
  void interrupt() noexcept { doorbell_.interrupt(); }

 private:
  Engine& engine_;
  Connections& connections_;
  Doorbell& doorbell_;
  const std::chrono::milliseconds longest_poll_;
  std::atomic<int> callers_{0};  ///< threads that wait for the lock
  std::vector<pollfd> descriptors_{};
};

}  // namespace rondo::detail
