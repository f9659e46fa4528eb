// Asynchronous work that is waited for before its buffers go.
#pragma once

#include <memory>
#include <utility>

#include "tools/trainer/machine/machine.h"
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
  }
  ~Pending() { drop(); }
  Pending(Pending&& other) noexcept = default;
  Pending& operator=(Pending&& other) noexcept {
    drop();
    work_ = std::move(other.work_);
    return *this;
  }

  bool open() const { return work_ != nullptr; }
  /// Throws the work's error. Nothing to do where there is no work.
  void wait(Stopwatch& watch) {
    if (!open()) return;
    const auto scope = watch.in(Phase::communication);
    std::exchange(work_, nullptr)->wait();
  }

 private:
  void drop() noexcept {
    if (!open()) return;
    try {
      std::exchange(work_, nullptr)->wait();
    } catch (...) {  // the communicator has failed: nothing is under way any more
    }
  }

  std::unique_ptr<Started> work_{};
};

}  // namespace rondo::train
