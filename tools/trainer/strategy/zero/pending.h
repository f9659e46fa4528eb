// Asynchronous work that is waited for before its buffers are destroyed.
#pragma once

#include <memory>
#include <utility>

#include "tools/trainer/machine/machine.h"
#include "tools/trainer/report/stopwatch.h"

namespace rondo::train {

/// Declare it after the buffers that the work reads and writes. If an error ends the strategy
/// early, the destructor waits until the work no longer uses them. An error of the work itself is
/// then dropped, as the first error is reported. Movable.
class Pending {
 public:
  Pending() = default;
  /// `issue` starts the work. The time that it takes counts as communication.
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
  /// Throws the work's error. Does nothing if there is no work.
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
