// Ctrl-C while a call waits: the communicator is aborted, and Python raises KeyboardInterrupt.
//
// Python's own handler only makes a note, which is looked at between two lines of Python. A thread
// that waits for its peers in C++ would come to that after RONDO_TIMEOUT. So the handler is
// followed by one that wakes a thread, which aborts the communicators that the main thread waits
// for.
#pragma once

#include "rondo/rondo.h"

namespace rondo_python {

/// Once communicators are made, on Python's main thread, with its lock. Does nothing where SIGINT
/// has a handler other than Python's default.
void watch_interrupts();

/// Around a call that may wait, which has Python look for signals once more when this is made. On
/// other threads than the main one it does nothing, as Python raises KeyboardInterrupt there.
class Interruptible {
 public:
  explicit Interruptible(rondo::Communicator& communicator);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  rondo::Communicator& communicator() const { return communicator_; }
  /// The call around this one, which ends later.
  const Interruptible* around() const { return around_; }

 private:
  rondo::Communicator& communicator_;
  const Interruptible* around_ = nullptr;
  bool watched_;
};

}  // namespace rondo_python
