// The progress lock: which thread works, how long a wait lasts, and what becomes of errors.
#include <poll.h>

#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/communicator/remedies.h"
#include "core/communicator/turn.h"

namespace rondo::detail {
namespace {

/// Longest sleeps. A doorbell can be missed (see doorbell.h), so it is never trusted for long;
/// descriptors cannot, but connections under way want a look.
constexpr std::chrono::milliseconds doorbell_sleep{1};
constexpr int descriptor_sleep_ms = 5;

/// At the end of a communicator the last calls are compared. This is the time for slower ranks to
/// reach theirs, such as those that a broadcast's root does not wait for.
constexpr std::chrono::milliseconds longest_comparing{200};

/// True of what a transport says of a peer: when a process dies its connections break in any order,
/// so a device may blame the peer's memory or the network before anybody knows of the death.
bool is_a_symptom(const Error& error) {
  switch (error.code()) {
    case ErrorCode::peer_lost:
      return true;
    case ErrorCode::system:
    case ErrorCode::internal:
    case ErrorCode::timeout:
      return error.peer() >= 0;
    default:
      return false;
  }
}

}  // namespace

void CommunicatorState::wait(Operation& operation) {
  bool may_leave = true;  // the work to the thread that holds the role
  while (!operation.is_done()) {
    Turn turn(*this, std::try_to_lock);
    if (turn.held()) {
      // Another thread's call may be what completes this work: a thread that asks gets the role.
      backoff_.reset();
      // At least one step, or data that has come would not be looked at before the time is judged.
      do {
        step(backoff_);
      } while (!operation.is_done() && !turn.wanted());
      if (!operation.is_done()) judge_silence();
    } else if (may_leave && (may_leave = try_to_carry_on())) {
      // The thread that holds the role works for this operation too; finish() wakes us. With a
      // progress thread the role is never abandoned; a group's calls began without one.
      operation.done.wait(false, std::memory_order_acquire);
    } else {
      std::this_thread::sleep_for(doorbell_sleep);  // the role is free again in the end
    }
  }
  if (operation.error) std::rethrow_exception(operation.error);
}

bool CommunicatorState::try_to_carry_on() {
  // relaxed: a thread that does not see it asks for the role and the progress thread.
  if (has_background_.load(std::memory_order_relaxed)) return true;
  try {
    carry_on_in_background();
  } catch (const std::exception& error) {
    log(LogLevel::warn, rank(), error.what());
    return false;
  }
  return true;
}

bool CommunicatorState::test(Operation& operation) {
  if (!operation.is_done()) {
    Turn turn(*this, std::try_to_lock);
    if (turn.held()) look();
  }
  if (!operation.is_done()) return false;
  if (operation.error) std::rethrow_exception(operation.error);
  return true;
}

void CommunicatorState::drive(Operation& operation) {
  backoff_.reset();
  while (!operation.is_done()) step(backoff_);
}

/// Completes a call that this thread has just begun.
void CommunicatorState::complete(Operation& operation) {
  bool done = false;
  guarded([&] { done = engine_->run_at_once(&operation, backoff_.looks_at_once()); });
  if (!done) return drive(operation);
  ++moves_;
}

/// Moves what can be moved, without waiting. True when anything did.
bool CommunicatorState::look() {
  bool moved = false;
  guarded([&] {
    moved = engine_->progress() || engine_->progress_transports();
    if (moved) ++moves_;
    if (!moved && line_->failed()) throw line_->failure();
  });
  return moved;
}

/// Moves what can be moved, or waits a little.
void CommunicatorState::step(Backoff& backoff) {
  guarded([&] {
    if (engine_->progress()) {
      ++moves_;
      backoff.reset();
      if (line_->failed()) throw line_->failure();
    } else {
      idle(backoff);
    }
  });
}

void CommunicatorState::idle(Backoff& backoff) {
  if (line_->failed()) throw line_->failure();
  if (backoff.look_around() && engine_->progress_transports()) return;
  if (backoff.pause()) sleep(backoff);
}

void CommunicatorState::sleep(Backoff& backoff) {
  doorbell_.arm();
  if (engine_->progress() || engine_->progress_transports()) {
    ++moves_;
    backoff.reset();
  } else {
    descriptors_.clear();
    engine_->add_descriptors(descriptors_);
    if (descriptors_.empty()) {
      doorbell_.sleep(doorbell_sleep);
    } else {
      sleep_on_descriptors();
    }
  }
  doorbell_.disarm();
  report_stall();
}

void CommunicatorState::sleep_on_descriptors() {
  const int longest = transports_.size() == 1 ? descriptor_sleep_ms : 1;
  if (!waker_.is_open()) {  // there is no second thread
    ::poll(descriptors_.data(), descriptors_.size(), longest);
    return;
  }
  descriptors_.push_back({.fd = waker_.descriptor(), .events = POLLIN, .revents = 0});
  waker_.arm();
  if (callers_.load(std::memory_order_seq_cst) == 0)
    ::poll(descriptors_.data(), descriptors_.size(), longest);
  waker_.disarm();
}

/// For a thread that holds the role in turn with other threads. They may take it so often that this
/// thread never reaches sleep(), which keeps the time elsewhere.
void CommunicatorState::judge_silence() {
  guarded([&] {
    if (line_->failed()) throw line_->failure();
    report_stall();
  });
}

void CommunicatorState::report_stall() {
  const Silence::Verdict verdict = watchdog_.judge(moves_, Silence::Clock::now());
  if (verdict != Silence::Verdict::wait) watchdog_.act(verdict, awaited_message());
}

/// The send or recv by itself that this rank waits for, and for nothing else; null: there is none.
const Operation* CommunicatorState::awaited_message() const {
  if (engine_->idle()) return to_self_.empty() ? nullptr : to_self_.front().get();
  if (!engine_->only_point_to_point()) return nullptr;
  const Operation* const oldest = engine_->oldest_point_to_point();
  return oldest->is_part ? nullptr : oldest;
}

std::optional<Error> CommunicatorState::untold() const {
  if (told_.load(std::memory_order_relaxed)) return std::nullopt;
  std::optional<Error> error = failure();
  if (error && error->code() != ErrorCode::mismatch) error.reset();
  return error;
}

void CommunicatorState::fail(const Error& error) {
  if (!is_idle()) note_told();  // only calls under way report it
  // The control plane usually knows which rank died, and why.
  if (is_a_symptom(error)) watchdog_.await_diagnosis(awaited_message());
  if (!line_->failed()) line_->fail(error);
  engine_->fail_all(std::make_exception_ptr(line_->failed() ? line_->failure() : error));
  for (const auto& operation : to_self_) operation->finish(std::make_exception_ptr(error));
  to_self_.clear();
  write_trace(false);  // this process may not live much longer
}

void CommunicatorState::set_timeout(std::chrono::milliseconds timeout) {
  require_own_process();
  watchdog_.set_timeout(timeout);
}

void CommunicatorState::require_own_process() const {
  if (is_own()) return;
  throw Error(
      ErrorCode::invalid_usage,
      "this communicator belongs to the process that this one was forked from",
      {.rank = rank(),
       .remedy = "use it in that process alone; a child may make a communicator of its own"});
}

void CommunicatorState::require_usable() {
  require_own_process();
  if (finalized_) {
    throw Error(ErrorCode::invalid_usage, "this communicator was finalized",
                {.rank = rank(), .remedy = "make a new one"});
  }
  if (!line_->failed()) return;
  note_told();
  throw line_->failure();
}

std::optional<Error> CommunicatorState::failure() const {
  if (!line_->failed()) return std::nullopt;
  return line_->failure();
}

void CommunicatorState::carry_on_in_background() {
  const Turn turn(*this);  // whose end wakes the thread
  if (background_.joinable() || stopping_) return;
  if (!waker_.is_open()) waker_.open();
  background_ = start_thread([this] { background(); });
  // relaxed, like its load in wait(): a thread that does not see it comes here for role and thread.
  has_background_.store(true, std::memory_order_relaxed);
}

bool CommunicatorState::is_idle() const { return engine_->idle() && to_self_.empty(); }

void CommunicatorState::background() {
  Backoff backoff = this->backoff();
  std::unique_lock lock(role_);
  for (;;) {
    const auto is_wanted = [&] {
      // relaxed: changed under role_ when it falls, and a rise only means that we give way.
      return stopping_ || (!is_idle() && callers_.load(std::memory_order_relaxed) == 0);
    };
    const bool gave_way = !is_wanted();
    if (gave_way) background_wakes_.wait(lock, is_wanted);
    if (stopping_) return;
    if (gave_way) backoff.reset();  // others may have moved all since
    step(backoff);
    if (gave_way && !is_idle()) judge_silence();
    lock.unlock();
    lock.lock();
  }
}

void CommunicatorState::abort(const std::string& reason) noexcept {
  if (!is_own()) return;
  try {
    end_with(Error(ErrorCode::aborted,
                   "the communicator was aborted" + (reason.empty() ? "" : ": " + reason),
                   {.rank = rank(), .remedy = std::string(remedies::new_communicator.words)}));
  } catch (...) {
    // Out of memory while describing the abort: there is no one left to tell.
  }
}

void CommunicatorState::end_with(const Error& error) noexcept {
  try {
    line_->fail(error);
  } catch (...) {
    // Out of memory while telling: threads that wait here are woken all the same.
  }
  ring(doorbell_.word());
  waker_.wake();
}

void CommunicatorState::close(bool together) {
  Turn turn(*this);
  if (finalized_) return;
  finalized_ = true;
  // Calls under way report a failure where they are waited for.
  const bool told = told_.load(std::memory_order_relaxed);
  try {
    drain();
  } catch (...) {
    write_trace(false);
    line_->leave();
    throw;
  }
  write_trace(together);
  if (together && size() > 1) line_->compare_calls(longest_comparing);
  const auto disagreement = untold();  // errors of other ranks after it has left do not count
  line_->leave();
  if (together && !told && disagreement) {
    note_told();
    throw *disagreement;
  }
}

/// Completes what is under way and hands everything sent to a kernel or shared memory.
void CommunicatorState::drain() {
  for (const auto& operation : to_self_) {
    operation->finish(std::make_exception_ptr(Error(
        ErrorCode::invalid_usage, "a send or recv between this rank and itself has no other side",
        {.rank = rank(), .peer = rank(), .call = to_string(operation->prepared->call)})));
  }
  to_self_.clear();
  backoff_.reset();
  while (!engine_->idle()) step(backoff_);
  while (!line_->failed() && !engine_->flushed()) {
    if (engine_->progress_transports()) {
      ++moves_;
      backoff_.reset();
    } else if (backoff_.pause()) {
      sleep(backoff_);
    }
  }
}

/// The exception most likely takes the buffers away as well, so nothing may write to them any more.
/// And the other ranks may be waiting for a call that this one has left out.
void CommunicatorState::abandon_calls() {
  {
    const Turn turn(*this);
    if (is_idle()) return;
  }
  abort("an exception left its calls under way");
}

CommunicatorState::~CommunicatorState() {
  try {
    if (std::uncaught_exceptions() > exceptions_) abandon_calls();
    close(false);
  } catch (const std::exception& error) {
    log(LogLevel::warn, rank(), std::string("while finalizing: ") + error.what());
  }
  {
    const std::scoped_lock lock(role_);
    stopping_ = true;
  }
  background_wakes_.notify_all();
  if (background_.joinable()) background_.join();
  line_->leave();
}

}  // namespace rondo::detail
