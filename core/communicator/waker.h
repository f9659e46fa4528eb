// Waker: ends a thread's sleep on descriptors from another thread of this process.
//
// A doorbell (core/transport/doorbell.h) wakes a thread that sleeps on shared memory. A thread that
// sleeps on sockets hears no doorbell. Without a Waker it would keep the progress lock to the end
// of its sleep, while another thread wants to begin a call.
#pragma once

#include <atomic>

#include "core/base/unique_fd.h"

namespace rondo::detail {

class Waker {
 public:
  /// From here on sleeps can be ended. Call it with the lock held, before a second thread is
  /// started: a communicator of one thread needs no descriptor for it. Throws Error{system} where
  /// the process has no descriptor left.
  void open();
  bool is_open() const { return event_.get() >= 0; }
  int descriptor() const { return event_.get(); }

  /// The sleeper's, in this order: arm(), look whether a sleep is still wanted, sleep, disarm().
  void arm() {
    // Sequentially consistent, with wake()'s load: either the sleeper sees what the other thread
    // stored (sequentially consistent, too) before it called wake(), or wake() sees this.
    asleep_.store(true, std::memory_order_seq_cst);
  }
  void disarm();
  /// Any thread, after a sequentially consistent store that the sleeper looks at after arm().
  void wake() noexcept;

 private:
  UniqueFd event_{};
  std::atomic<bool> asleep_{false};
};

}  // namespace rondo::detail
