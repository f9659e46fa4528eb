#include "tools/python/source/interrupt.h"

#include <pybind11/pybind11.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <thread>

namespace rondo_python {
namespace {

/// One object for the process, as it has one SIGINT. Never destroyed, as a signal may come at any
/// time.
struct Watch {
  sem_t interrupts{};
  struct sigaction python {};                ///< the handler before ours, which is called first
  pid_t process = 0;                         ///< the process whose thread watches; fork() ends it
  std::thread::id main{};                    ///< set before the thread starts, constant then
  std::mutex mutex{};                        ///< guards what follows
  const Interruptible* innermost = nullptr;  ///< of the main thread's calls
};

Watch& watch() {
  static Watch one;  // has nothing to destroy
  return one;
}

void on_interrupt(int number, siginfo_t* information, void* context) {
  const int error = errno;
  Watch& one = watch();
  if ((one.python.sa_flags & SA_SIGINFO) != 0)
    one.python.sa_sigaction(number, information, context);
  else
    one.python.sa_handler(number);
  sem_post(&one.interrupts);
  errno = error;
}

void abort_what_waits() {
  Watch& one = watch();
  for (;;) {
    while (sem_wait(&one.interrupts) != 0) {
    }
    const std::scoped_lock lock(one.mutex);
    for (const Interruptible* call = one.innermost; call != nullptr; call = call->around())
      call->communicator().abort("by Ctrl-C (SIGINT)");
  }
}

/// Whether this is the thread on which Python runs signal handlers, and SIGINT has Python's default
/// handler.
bool python_raises_interrupts() {
  const pybind11::module_ signals = pybind11::module_::import("signal");
  const pybind11::module_ threads = pybind11::module_::import("threading");
  return threads.attr("current_thread")().is(threads.attr("main_thread")()) &&
         signals.attr("getsignal")(SIGINT).is(signals.attr("default_int_handler"));
}

bool on_main_thread() { return std::this_thread::get_id() == watch().main; }

}  // namespace

void watch_interrupts() {
  Watch& one = watch();
  struct sigaction present {};
  if (sigaction(SIGINT, nullptr, &present) != 0 || !python_raises_interrupts()) return;
  const bool installed =
      (present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == &on_interrupt;
  if (installed && one.process == getpid()) return;
  if (!installed) {
    one.python = present;
    if (present.sa_handler == SIG_DFL || present.sa_handler == SIG_IGN) return;
  }
  if (one.process != getpid()) {
    sem_init(&one.interrupts, 0, 0);
    one.process = getpid();
    one.main = std::this_thread::get_id();
    std::thread(abort_what_waits).detach();
  }
  if (installed) return;
  struct sigaction ours = present;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_sigaction = &on_interrupt;
  sigaction(SIGINT, &ours, nullptr);
}

Unlocked::~Unlocked() {
  try {
    PyEval_RestoreThread(state_);
  } catch (...) {  // the unwinding, which would go on at the end of this block
    for (;;) ::pause();
  }
}

Interruptible::Interruptible(rondo::Communicator& communicator)
    : communicator_(communicator), watched_(on_main_thread()) {
  if (!watched_) return;
  Watch& one = watch();
  const std::scoped_lock lock(one.mutex);
  around_ = one.innermost;
  one.innermost = this;
}

Interruptible::~Interruptible() {
  if (!watched_) return;
  Watch& one = watch();
  const std::scoped_lock lock(one.mutex);
  one.innermost = around_;
}

}  // namespace rondo_python
