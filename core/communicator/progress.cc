// The progress role: who works, how long they wait, and what becomes of trouble.
#include <poll.h>

#include "core/base/log.h"
#include "core/communicator/turn.h"

namespace rondo::detail {
namespace {

/// Longest sleeps. A doorbell can be missed (see doorbell.h), so it is never trusted for long;
/// descriptors cannot, but connections under way want a look.
constexpr std::chrono::milliseconds doorbell_sleep{1};
constexpr int descriptor_sleep_ms = 5;

/// How long a transport's complaint waits for the control plane to say what really happened.
constexpr std::chrono::milliseconds diagnosis{1000};
/// A death is known sooner than this; whoever left in order has to be asked for.
constexpr std::chrono::milliseconds between_questions{50};

/// Has the control plane find out what this rank waits for.
void ask_why(ControlLine& line, const Engine& engine, bool expired) {
  const Operation* const waiting = engine.oldest_point_to_point();
  if (waiting == nullptr || !engine.only_point_to_point()) return line.report_stall(expired);
  const Call& call = waiting->prepared->call;
  const std::string what = (waiting->sends ? "send of " : "recv of ") + std::to_string(call.count) +
                           " x " + std::string(name(call.type));
  line.report_stall_on(waiting->point_to_point_peer, what, expired);
}

void await_diagnosis(ControlLine& line, const Engine& engine) {
  const auto begin = std::chrono::steady_clock::now();
  auto next_question = begin + between_questions;
  for (auto now = begin; !line.failed() && now < begin + diagnosis;
       now = std::chrono::steady_clock::now()) {
    if (now >= next_question) {
      ask_why(line, engine, false);
      next_question = now + between_questions;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void CommunicatorState::wait(Operation& operation) {
  while (!operation.is_done()) {
    Turn turn(*this, std::try_to_lock);
    if (turn.held()) {
      // Another thread's call may be what completes this work: whoever asks gets the role.
      patience_.reset();
      while (!operation.is_done() && !turn.wanted()) step(patience_);
    } else {
      // Whoever holds the role works for this operation too; finish() wakes us. The progress thread
      // exists, as this work is asynchronous, so the role is never abandoned.
      operation.done.wait(false, std::memory_order_acquire);
    }
  }
  if (operation.error) std::rethrow_exception(operation.error);
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
  patience_.reset();
  while (!operation.is_done()) step(patience_);
}

template <class Body>
void CommunicatorState::guarded(Body body) {
  try {
    body();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {  // no memory, say: the peers must hear of it too
    fail(Error(ErrorCode::internal, error.what(), {.rank = rank()}));
  }
}

/// Completes a call that this thread has just begun.
void CommunicatorState::complete(Operation& operation) {
  bool done = false;
  guarded([&] { done = engine_->run_at_once(&operation, patience_.backoff().looks_at_once()); });
  if (!done) drive(operation);
}

/// Moves what can be moved, without waiting. True when anything did.
bool CommunicatorState::look() {
  bool moved = false;
  guarded([&] {
    moved = engine_->progress() || engine_->progress_transports();
    if (!moved && line_->failed()) throw line_->failure();
  });
  return moved;
}

/// Moves what can be moved, or waits a little.
void CommunicatorState::step(Patience& patience) {
  guarded([&] {
    if (engine_->progress()) {
      patience.reset();
      if (line_->failed()) throw line_->failure();
    } else {
      idle(patience);
    }
  });
}

void CommunicatorState::idle(Patience& patience) {
  if (line_->failed()) throw line_->failure();
  if (patience.backoff().look_around() && engine_->progress_transports()) return;
  if (patience.backoff().pause()) sleep(patience);
}

void CommunicatorState::sleep(Patience& patience) {
  doorbell_.arm();
  if (engine_->progress() || engine_->progress_transports()) {
    patience.reset();
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
  report_stall(patience);
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

void CommunicatorState::report_stall(Patience& patience) {
  const Patience::Verdict verdict = patience.judge();
  if (verdict == Patience::Verdict::wait) return;
  if (verdict == Patience::Verdict::lost) {
    throw Error(
        ErrorCode::timeout,
        "nothing moved for longer than RONDO_TIMEOUT and the control plane does not answer",
        {.rank = rank(),
         .remedy =
             "look for a stopped or swapped-out rank; raise RONDO_TIMEOUT if it is only slow"});
  }
  line_->set_timeout(patience.timeout());
  ask_why(*line_, *engine_, verdict == Patience::Verdict::expired);
}

void CommunicatorState::fail(const Error& error) {
  // A closed connection is only a symptom: the control plane usually knows who died, and of what.
  if (error.code() == ErrorCode::peer_lost) await_diagnosis(*line_, *engine_);
  if (!line_->failed()) line_->fail(error);
  engine_->fail_all(std::make_exception_ptr(line_->failed() ? line_->failure() : error));
  for (const auto& operation : to_self_) operation->finish(std::make_exception_ptr(error));
  to_self_.clear();
  write_trace(false);  // this process may not live much longer
}

void CommunicatorState::require_usable() const {
  if (finalized_) {
    throw Error(ErrorCode::invalid_usage, "this communicator was finalized",
                {.rank = rank(), .remedy = "make a new one"});
  }
  if (line_->failed()) throw line_->failure();
}

std::optional<Error> CommunicatorState::failure() const {
  if (!line_->failed()) return std::nullopt;
  return line_->failure();
}

void CommunicatorState::carry_on_in_background() {
  const Turn turn(*this);  // whose end wakes the thread
  if (background_.joinable() || stopping_) return;
  if (!waker_.is_open()) waker_.open();
  background_ = std::thread([this] { background(); });
}

void CommunicatorState::background() {
  Patience patience = this->patience();
  std::unique_lock lock(role_);
  for (;;) {
    background_wakes_.wait(lock, [&] {
      // relaxed: changed under role_ when it falls, and a rise only means that we give way.
      return stopping_ || (!engine_->idle() && callers_.load(std::memory_order_relaxed) == 0);
    });
    if (stopping_) return;
    step(patience);
    lock.unlock();
    lock.lock();
  }
}

void CommunicatorState::abort(const std::string& reason) noexcept {
  try {
    line_->fail(Error(ErrorCode::aborted,
                      "the communicator was aborted" + (reason.empty() ? "" : ": " + reason),
                      {.rank = rank()}));
  } catch (...) {
    // Out of memory while describing the abort: there is nobody left to tell.
  }
  ring(doorbell_.word());
  waker_.wake();
}

void CommunicatorState::close(bool together) {
  Turn turn(*this);
  if (finalized_) return;
  finalized_ = true;
  try {
    drain();
  } catch (...) {
    write_trace(false);
    line_->leave();
    throw;
  }
  write_trace(together);
  line_->leave();
}

/// Completes what is under way and hands everything sent to a kernel or shared memory.
void CommunicatorState::drain() {
  for (const auto& operation : to_self_) {
    operation->finish(std::make_exception_ptr(
        Error(ErrorCode::invalid_usage, "a send or recv with this very rank was never matched",
              {.rank = rank(), .peer = rank(), .call = to_string(operation->prepared->call)})));
  }
  to_self_.clear();
  patience_.reset();
  while (!engine_->idle()) step(patience_);
  while (!line_->failed() && !engine_->flushed()) {
    if (engine_->progress_transports()) {
      patience_.reset();
    } else if (patience_.backoff().pause()) {
      sleep(patience_);
    }
  }
}

CommunicatorState::~CommunicatorState() {
  try {
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
