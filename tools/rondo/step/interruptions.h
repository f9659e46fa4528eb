// Signals that end the view or change its size, as events to wait for.
#pragma once

#include <signal.h>

#include "core/base/unique_fd.h"

namespace rondo::tool::step {

/// Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGWINCH while it lives, except those that were
/// ignored before (nohup). Make only one at a time, in a process of one thread.
class Interruptions {
 public:
  Interruptions();
  ~Interruptions();
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

  /// Readable when a signal has come.
  int descriptor() const { return fd_.get(); }
  /// The next signal that has come; 0: none.
  int next();

 private:
  sigset_t before_{};
  UniqueFd fd_{};
};

}  // namespace rondo::tool::step
