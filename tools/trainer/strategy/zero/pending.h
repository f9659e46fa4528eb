// Asynchronous work that is waited for before its buffers go.
#pragma once

#include <utility>

#include "rondo/rondo.h"
#include "tools/trainer/report/stopwatch.h"

namespace rondo::train {

/// Declare it behind the buffers that the work reads and writes: should an error end the strategy
/// early, the destructor waits until nobody touches them any more. What went wrong in the work is
/// then not worth a word beside the first error. Movable.
class Pending {
 public:
  Pending() = default;
  /// `issue` starts the work; that it takes a while counts as communication, too.
  template <class Issue>
  Pending(Stopwatch& watch, Issue issue) {
    const auto scope = watch.in(Phase::communication);
    work_ = issue();
    open_ = true;
  }
  ~Pending() { drop(); }
  Pending(Pending&& other) noexcept
      : work_(std::move(other.work_)), open_(std::exchange(other.open_, false)) {}
  Pending& operator=(Pending&& other) noexcept {
    drop();
    work_ = std::move(other.work_);
    open_ = std::exchange(other.open_, false);
    return *this;
  }

  bool open() const { return open_; }
  /// Throws the work's error. Nothing to do where there is no work.
  void wait(Stopwatch& watch) {
    if (!open_) return;
    const auto scope = watch.in(Phase::communication);
    open_ = false;
    work_.wait();
  }

 private:
  void drop() noexcept {
    if (!std::exchange(open_, false)) return;
    try {
      work_.wait();
    } catch (...) {  // the communicator has failed: nothing is under way any more
    }
  }

  Work work_{};
  bool open_ = false;
};

}  // namespace rondo::train
