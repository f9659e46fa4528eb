// Ctrl-C while a call waits: the communicator is aborted, and Python raises KeyboardInterrupt.
//
// Python's own handler only sets a flag, which is checked between two lines of Python. A thread
// that waits for its peers in C++ would check it only after RONDO_TIMEOUT. So a second handler
// follows Python's. It wakes a thread that aborts the communicators for which the main thread
// waits.
#pragma once

#include <pybind11/pybind11.h>

#include "rondo/rondo.h"

namespace rondo_python {

/// Called when communicators are made, on Python's main thread, while holding Python's lock. Does
/// nothing if SIGINT has another handler than Python's default.
void watch_interrupts();

/// Lives around a call that may wait. The call lets Python check for signals once more after this
/// is made. Does nothing on other threads than the main one, on which Python raises
/// KeyboardInterrupt.
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

/// Called after an Interruptible is made: for signals that came before it.
inline void heed_signals() {
  if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
}

/// Gives Python's lock up while it lives. Where Python has ended meanwhile, a daemon thread stays in the
/// destructor: Python before 3.14 would unwind it, and no C++ destructor lets that pass.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// Runs `body` without Python's lock. A KeyboardInterrupt wins over the error that it caused.
template <class Body>
void waiting(const Body& body) {
  try {
    const Unlocked unlocked;
    body();
  } catch (const rondo::Error&) {
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
    throw;
  }
}

}  // namespace rondo_python
