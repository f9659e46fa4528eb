#include "core/communicator/progress.h"

#include "core/base/log.h"
#include "core/base/threads.h"

namespace rondo::detail {
namespace {

/// Where another thread works, and no thread can be had to work later.
constexpr std::chrono::milliseconds between_tries{1};

}  // namespace

Progress::Progress(Engine& engine, Connections& connections, Watchdog& watchdog, Lifetime& lifetime,
                   bool oversubscribed)
    : engine_(engine),
      watchdog_(watchdog),
      lifetime_(lifetime),
      sleeper_(engine, connections),
      backoff_(oversubscribed, connections.looks_are_system_calls()) {}

void Progress::wait(Operation& operation) {
  bool may_leave = true;  // the work to the thread that holds the lock
  while (!operation.is_done()) {
    Lock lock(*this, std::try_to_lock);
    if (lock.held()) {
      // Another thread's call may be what completes this work: a thread that asks gets the lock.
      backoff_.reset();
      // At least one step, or data that has come would not be looked at before the time is judged.
      do {
        step(backoff_);
      } while (!operation.is_done() && !lock.wanted());
      if (!operation.is_done()) check_silence();
    } else if (may_leave && (may_leave = try_to_carry_on())) {
      // The thread that holds the lock works for this operation too; finish() wakes us. With a
      // progress thread the lock is never abandoned; a group's calls began without one.
      operation.done.wait(false, std::memory_order_acquire);
    } else {
      std::this_thread::sleep_for(between_tries);  // the lock is free again in the end
    }
  }
  if (operation.error) std::rethrow_exception(operation.error);
}

bool Progress::try_to_carry_on() {
  // relaxed: a thread that does not see it asks for the lock and the progress thread.
  if (has_thread_.load(std::memory_order_relaxed)) return true;
  try {
    carry_on_in_background();
  } catch (const std::exception& error) {
    log(LogLevel::warn, lifetime_.rank(), error.what());
    return false;
  }
  return true;
}

bool Progress::test(Operation& operation) {
  if (!operation.is_done()) {
    Lock lock(*this, std::try_to_lock);
    if (lock.held()) look();
  }
  if (!operation.is_done()) return false;
  if (operation.error) std::rethrow_exception(operation.error);
  return true;
}

/// Completes a call that this thread has just begun.
void Progress::complete(Operation& operation) {
  bool done = false;
  lifetime_.guarded([&] { done = engine_.run_at_once(&operation, backoff_.looks_at_once()); });
  if (!done) return drive(operation);
  ++moves_;
}

/// Moves what can be moved, without waiting. True when anything did.
bool Progress::look() {
  bool moved = false;
  lifetime_.guarded([&] {
    moved = engine_.progress() || engine_.progress_transports();
    if (moved) note_progress();
    if (!moved && lifetime_.control().failed()) throw lifetime_.control().failure();
  });
  return moved;
}

/// Moves what can be moved, or waits a little.
void Progress::step(Backoff& backoff) {
  lifetime_.guarded([&] {
    if (engine_.progress()) {
      note_progress();
      backoff.reset();
      // Others' progress must not hide that what is awaited stands still.
      constexpr unsigned seldom = 64;
      if (++busy_steps_ % seldom == 0) report_stall();
      if (lifetime_.control().failed()) throw lifetime_.control().failure();
    } else {
      idle(backoff);
    }
  });
}

void Progress::idle(Backoff& backoff) {
  if (lifetime_.control().failed()) throw lifetime_.control().failure();
  if (backoff.look_around() && engine_.progress_transports()) return;
  if (backoff.pause()) sleep(backoff);
}

void Progress::sleep(Backoff& backoff) {
  if (sleeper_.sleep()) {
    note_progress();
    backoff.reset();
  }
  report_stall();
}

/// For a thread that holds the lock in turn with other threads. They may take it so often that this
/// thread never reaches sleep(), which keeps the time elsewhere.
void Progress::check_silence() {
  lifetime_.guarded([&] {
    if (lifetime_.control().failed()) throw lifetime_.control().failure();
    report_stall();
  });
}

/// Only progress of what is awaited puts off its deadline.
void Progress::note_progress() {
  if (engine_.progress_counts()) ++moves_;
}

void Progress::report_stall() {
  if (!awaits_) return;
  const Silence::Verdict verdict = watchdog_.assess(moves_, Silence::Clock::now());
  engine_.watch_oldest();
  if (verdict != Silence::Verdict::wait) watchdog_.act(verdict, lifetime_.awaited());
}

void Progress::require_own_process() const {
  if (is_own()) return;
  throw Error(
      ErrorCode::invalid_usage,
      "this communicator belongs to the process that this one was forked from",
      {.rank = lifetime_.rank(),
       .remedy = "use it in that process alone; a child may make a communicator of its own"});
}

void Progress::carry_on_in_background() {
  const Lock lock(*this);  // whose end wakes the thread
  if (thread_.joinable() || stopping_) return;
  sleeper_.expect_threads();
  thread_ = start_thread([this] { background(); });
  // relaxed, like its load in wait(): a thread that does not see it comes here for lock and thread.
  has_thread_.store(true, std::memory_order_relaxed);
}

void Progress::background() {
  std::unique_lock lock(mutex_);
  Backoff backoff = backoff_;
  for (;;) {
    const auto is_wanted = [&] {
      // relaxed: changed under mutex_ when it falls, and a rise only means that we give way.
      return stopping_ || (lifetime_.has_work() && !sleeper_.is_announced());
    };
    const bool gave_way = !is_wanted();
    if (gave_way) wakes_.wait(lock, is_wanted);
    if (stopping_) return;
    if (gave_way) backoff.reset();   // others may have moved all since
    awaits_ = !lifetime_.is_idle();  // else it only serves
    step(backoff);
    awaits_ = true;
    if (gave_way && !lifetime_.is_idle()) check_silence();
    lock.unlock();
    lock.lock();
  }
}

void Progress::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Progress::drain() {
  drive_while([&] { return !engine_.idle(); });
  while (!lifetime_.control().failed() && !engine_.flushed()) {
    if (engine_.progress_transports()) {
      note_progress();
      backoff_.reset();
    } else if (backoff_.pause()) {
      sleep(backoff_);
    }
  }
}

}  // namespace rondo::detail
