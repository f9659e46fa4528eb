// Waiting for a peer, and how it ends when the peer never comes.
//
// Every wait looks at the rank's abort word now and then, and gives up after the rank's timeout.
// The thread that gives up first raises the abort word, so that all teams of the rank end. It also
// writes to the rank's failure record what it waited for. Afterwards channels are in an unknown
// state: the arena must be made anew.
#pragma once

#include "kernels/device/fences.h"

namespace rondo::device {

enum class Awaited : std::uint32_t { message, credit, small_message, meeting };
enum class Ending : std::uint32_t { aborted, out_of_patience };

/// What a team waited for when it ended. Read it by failure_of().
struct Failure {
  Ending ending = Ending::aborted;
  Awaited awaited = Awaited::message;
  std::uint32_t lane = 0;
  std::uint32_t stripe = 0;
  std::uint32_t op = 0;  ///< in the rank's program
  std::uint32_t peer = 0;
  std::uint64_t pass = 0;
  std::uint64_t step = 0;  ///< the message of that channel, counted from the arena's making
};
static_assert(sizeof(Failure) == 40);
inline constexpr std::uint64_t failure_taken = 1;    ///< someone is writing the record
inline constexpr std::uint64_t failure_written = 2;  ///< it is whole, and stays as it is

/// Each rank has one, in memory that its teams and the host reach. The host raises `abort` to end
/// the rank's teams. In a new one everything but `patience` is zero.
struct Control {
  std::uint64_t abort = 0;   ///< not 0: end
  std::uint64_t failed = 0;  ///< failure_taken by the first to fail, then failure_written
  /// Looks at one word before a wait gives up, in whole multiples of 256; 0: for ever.
  std::uint32_t patience = 0;
  Failure failure{};
};

/// What the first wait to end waited for; null until that is written in full. Call it at any time.
RONDO_DEVICE inline const Failure* failure_of(const Control& control) {
  return load_acquire(&control.failed) == failure_written ? &control.failure : nullptr;
}

/// One thread's wait for one word. `what` has no ending yet, since the wait decides it.
class Wait {
 public:
  RONDO_DEVICE Wait(Control& control, const Failure& what) : control_(control), what_(what) {}

  /// False: stop waiting, the record is written.
  RONDO_DEVICE bool go_on() {
    // The control block may lie in the host's memory, far away: not at every look.
    if (++looks_ % looks_per_control == 0) {
      const bool aborted = load_relaxed(&control_.abort) != 0;
      if (aborted || looks_ >= control_.patience - 1)  // a patience of 0 becomes the largest number
        return end(aborted ? Ending::aborted : Ending::out_of_patience);
    }
    pause(looks_);
    return true;
  }

 private:
  static constexpr std::uint32_t looks_per_control = 256;

  RONDO_DEVICE bool end(Ending ending) {
    if (exchange_if(&control_.failed, 0, failure_taken)) {
      what_.ending = ending;
      store_plain(&control_.failure, what_);
      store_release(&control_.failed, failure_written);  // with failure_of()'s load
    }
    store_relaxed(&control_.abort, 1);
    return false;
  }

  Control& control_;
  Failure what_;
  std::uint32_t looks_ = 0;
};

/// Waits until `ready()`, by looking. False when the wait was ended.
template <class Ready>
RONDO_DEVICE inline bool wait_until(Control& control, const Failure& what, const Ready& ready) {
  if (ready()) return true;
  Wait wait(control, what);
  do {
    if (!wait.go_on()) return false;
  } while (!ready());
  return true;
}

}  // namespace rondo::device
