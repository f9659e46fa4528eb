// Progress: which thread moves a communicator's data, and how it waits.
//
// The progress lock: its holder alone touches the engine and the transports. A blocking call takes
// it and works on the caller's thread. The first asynchronous call starts one progress thread, which
// works only while no caller asks for the lock. It is the only lock held while calling the control
// plane.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "core/base/fork.h"
#include "core/communicator/lifetime.h"
#include "core/communicator/sleeper.h"
#include "core/execute/backoff.h"
#include "core/execute/engine.h"

namespace rondo::detail {

class Progress {
 public:
  class Lock;  ///< holds the progress lock

  /// All outlive it. `oversubscribed`: ranks outnumber cores on this machine.
  Progress(Engine& engine, Connections& connections, Watchdog& watchdog, Lifetime& lifetime,
           bool oversubscribed);

  /// False in a child that its process has forked. Any thread.
  bool is_own() const { return maker_.is_this(); }
  /// Throws in a child by fork(), which lacks the threads that work here and would speak for its
  /// parent.
  void require_own_process() const;

  /// Any thread, without the lock. They throw the operation's failure.
  void wait(Operation& operation);
  bool test(Operation& operation);
  /// Makes sure that work goes on while no thread waits for it. Throws Error{system} where no
  /// thread can be had: then it goes on while one waits.
  void carry_on_in_background();
  /// The same for work that a thread is about to wait for; false where no thread can be had.
  bool try_to_carry_on();
  /// The holder of the lock looks at once whether the communicator has failed. Any thread.
  void interrupt() noexcept { sleeper_.interrupt(); }
  /// Ends the progress thread. Idempotent.
  void stop();

  // The rest is for the holder of the lock.

  /// Completes a collective that this thread has just begun, and no other one waits for.
  void complete(Operation& operation);
  /// Works until the operation has ended.
  void drive(Operation& operation) {
    drive_while([&] { return !operation.is_done(); });
  }
  template <class Pending>
  void drive_while(Pending is_pending) {
    backoff_.reset();
    while (is_pending()) step(backoff_);
  }
  /// Moves what can be moved, without waiting. True when anything did.
  bool look();
  /// How often to look at once for an answer that is a hop away.
  std::uint32_t looks_at_once() const { return backoff_.looks_at_once(); }
  /// Something moved beside the engine, so nobody has waited in vain.
  void note_move() { ++moves_; }
  /// Completes what is under way and hands everything sent to a kernel or shared memory.
  void drain();

 private:
  void step(Backoff& backoff);
  void idle(Backoff& backoff);
  void sleep(Backoff& backoff);
  void check_silence();
  void note_progress();
  void report_stall();
  void background();

  const MakerProcess maker_{};
  Engine& engine_;
  Watchdog& watchdog_;
  Lifetime& lifetime_;
  Sleeper sleeper_;
  std::mutex mutex_;  ///< the progress lock
  std::condition_variable wakes_;
  std::thread thread_{};
  std::atomic<bool> has_thread_{false};  ///< a hint, for threads that do not hold the lock
  bool stopping_ = false;                ///< under the lock
  bool awaits_ = true;                   ///< the holder of the lock waits for something
  Backoff backoff_;                      ///< of callers' threads, under the lock
  std::uint64_t moves_ = 0;              ///< looks that saw what is awaited move; under the lock
  unsigned busy_steps_ = 0;              ///< steps in which something moved; under the lock
};

class Progress::Lock {
 public:
  /// Both throw Error{invalid_usage} in a child by fork(), where the lock may be held for ever.
  explicit Lock(Progress& progress) : progress_(own(progress)), held_(progress.mutex_.try_lock()) {
    if (held_) return;
    progress_.sleeper_.announce();  // the holder may be asleep
    progress_.mutex_.lock();
    held_ = true;
    progress_.sleeper_.withdraw();
  }
  Lock(Progress& progress, std::try_to_lock_t)
      : progress_(own(progress)), held_(progress.mutex_.try_lock()) {}
  ~Lock() {
    if (!held_) return;
    // With nothing under way the progress thread has nothing to do, and calls need not wake it.
    const bool wake = progress_.thread_.joinable() && progress_.lifetime_.has_work();
    progress_.mutex_.unlock();
    if (wake) progress_.wakes_.notify_one();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  bool held() const { return held_; }
  /// Somebody else asks for the lock.
  bool wanted() const { return progress_.sleeper_.is_announced(); }

 private:
  static Progress& own(Progress& progress) {
    progress.require_own_process();
    return progress;
  }

  Progress& progress_;
  bool held_ = false;
};

}  // namespace rondo::detail
