#include "tools/torch/source/work.h"

#include <ATen/record_function.h>
#include <c10/util/Exception.h>

#include <string>
#include <utility>

namespace rondo_torch {
namespace {

using c10::ivalue::Future;

/// The work's name for torch's profiler; nothing while no profiler runs, as it costs time.
const char* title(const Plan& plan) { return at::hasCallbacks() ? plan.name : nullptr; }

c10::intrusive_ptr<Future> make_future() {
  return c10::make_intrusive<Future>(c10::ListType::create(c10::TensorType::get()));
}

void settle(Future& future, const std::vector<at::Tensor>& outputs, std::exception_ptr failure) {
  if (failure)
    future.setError(std::move(failure));
  else
    future.markCompleted(c10::IValue(outputs));
}

}  // namespace

void rethrow(const rondo::Error& error, const Group& group) {
  C10_THROW_ERROR(DistBackendError, group.name + ": " + error.what());
}

std::exception_ptr translate(const rondo::Error& error, const Group& group) {
  try {
    rethrow(error, group);
  } catch (...) {
    return std::current_exception();
  }
}

Work::Work(std::shared_ptr<Group> group, Plan plan, std::uint64_t sequence,
           std::chrono::milliseconds timeout)
    : c10d::Work(group->communicator ? group->communicator.rank() : -1, plan.kind, title(plan)),
      group_(std::move(group)),
      plan_(std::move(plan)),
      sequence_(sequence),
      timeout_(timeout),
      has_last_tasks_(!plan_.last.empty()) {}

/// If one thread alone uses the group, a single call goes straight to rondo. That is the quickest
/// path, but holds the mutex while it waits. Otherwise other threads may begin calls meanwhile.
void Work::make_calls() {
  {
    const std::scoped_lock lock(group_->mutex);
    if (group_->only_caller() && plan_.calls.size() == 1)
      return make(group_->communicator, plan_.calls.front());
  }
  rondo::Group calls;
  {
    const std::scoped_lock lock(group_->mutex);
    for (const Call& call : plan_.calls) make(group_->communicator, call);
  }
  calls.wait();
}

void Work::run() {
  try {
    make_calls();
  } catch (const rondo::Error& error) {
    rethrow(error, *group_);
  }
  run_last_tasks();
  set_complete(nullptr);
}

void Work::run_last_tasks() const {
  const at::NoGradGuard no_gradient;  // they write into outputs, which may be leaves of a graph
  for (const auto& task : plan_.last) task();
}

void Work::begin_calls() {
  const std::scoped_lock lock(group_->mutex);
  group_->only_caller();
  parts_.reserve(plan_.calls.size());
  try {
    for (const Call& call : plan_.calls) parts_.push_back(begin(group_->communicator, call));
  } catch (const rondo::Error& error) {
    if (!parts_.empty()) {  // those begun already use the tensors: nobody may go on with them
      group_->communicator.abort(error.what());
      finish_parts();
    }
    rethrow(error, *group_);
  }
}

void Work::start(Completer& completer) {
  const std::shared_ptr<Completer::Queue>& queue = completer.queue();
  begin_calls();
  // One more than there are parts, so that none is the last one during the loop below. relaxed: no
  // other thread has the work yet.
  unfinished_.store(parts_.size() + 1, std::memory_order_relaxed);
  const auto one_less = [self = c10::intrusive_ptr<Work>::reclaim_copy(this), queue] {
    // Acquires and releases: the last one comes after all others.
    if (self->unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      self->parts_are_over(*queue);
  };
  for (rondo::Work& part : parts_) part.when_complete(one_less);
  one_less();
}

/// Runs on the thread that completes the last part. That thread must not be held up by callbacks of
/// the future, nor by freeing tensors, which may need Python's lock.
void Work::parts_are_over(Completer::Queue& queue) {
  const auto self = c10::intrusive_ptr<Work>::reclaim_copy(this);
  bool somebody_waits = false;
  {
    const std::scoped_lock lock(mutex_);
    parts_over_ = true;
    // If a profiler waits, the record of this work must not outlive its run.
    somebody_waits = (future_ || has_last_tasks_ || recordFunctionEndCallback_) && !completed_;
  }
  if (somebody_waits) queue.push([self] { self->complete(); });
  cv_.notify_all();
  queue.leave(std::make_shared<c10::intrusive_ptr<Work>>(self));
}

/// Waits for the parts on this thread, which moves their data if no other thread does. Returns the
/// first error.
std::exception_ptr Work::finish_parts() {
  std::exception_ptr failure;
  for (rondo::Work& part : parts_) {
    try {
      part.wait();
    } catch (const rondo::Error& error) {
      if (!failure) failure = translate(error, *group_);
    }
  }
  parts_.clear();
  return failure;
}

void Work::complete() {
  {
    std::unique_lock lock(mutex_);
    if (claimed_) return cv_.wait(lock, [this] { return completed_; });
    claimed_ = true;
  }
  complete_claimed();
}

void Work::complete_claimed() {
  std::exception_ptr failure = finish_parts();
  try {
    if (!failure) run_last_tasks();
  } catch (...) {
    failure = std::current_exception();
  }
  set_complete(std::move(failure));
  settle_future();
}

void Work::set_complete(std::exception_ptr failure) {
  plan_.last.clear();
  plan_.kept.clear();
  finish(std::move(failure));  // torch's: also tells its profiler of the end
}

/// Called after set_complete(). From then on getFuture() settles the futures that it makes.
void Work::settle_future() {
  c10::intrusive_ptr<Future> future;
  {
    const std::scoped_lock lock(mutex_);
    future = future_;
  }
  if (future && !future->completed()) settle(*future, plan_.outputs, exception_);
}

bool Work::await_parts_over(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return cv_.wait_for(lock, timeout, [this] { return completed_ || parts_over_; });
}

void Work::await_parts(std::chrono::milliseconds timeout) {
  if (timeout.count() <= 0 || timeout >= group_->timeout) return complete();
  if (await_parts_over(timeout)) return complete();
  const std::string what = std::string(plan_.name) + " #" + std::to_string(sequence_) +
                           " was not complete after " + std::to_string(timeout.count()) + " ms";
  group_->communicator.abort(what);
  complete();  // ends, with the abort's error
}

bool Work::wait(std::chrono::milliseconds timeout) {
  if (!isCompleted()) await_parts(timeout.count() > 0 ? timeout : timeout_);
  const std::scoped_lock lock(mutex_);
  if (exception_) std::rethrow_exception(exception_);
  return true;
}

/// Completes the work if no other thread is doing so, but does not wait. The caller may hold
/// Python's lock, and the thread that completes the work may need it.
bool Work::isCompleted() {
  {
    const std::scoped_lock lock(mutex_);
    if (completed_ || claimed_ || !parts_over_) return completed_;
    claimed_ = true;
  }
  complete_claimed();
  return true;
}

bool Work::isSuccess() const {
  const_cast<Work&>(*this).isCompleted();  // torch's interface: to know may be to complete
  const std::scoped_lock lock(mutex_);
  return completed_ && !exception_;
}

std::exception_ptr Work::exception() const {
  const_cast<Work&>(*this).isCompleted();
  const std::scoped_lock lock(mutex_);
  return exception_;
}

std::vector<at::Tensor> Work::result() { return plan_.outputs; }

void Work::abort() { group_->communicator.abort(std::string(plan_.name) + " was aborted"); }

c10::intrusive_ptr<Future> Work::getFuture() {
  isCompleted();  // else the last part wakes the completer, as it finds the future
  const std::scoped_lock lock(mutex_);
  if (!future_) {
    future_ = make_future();
    // The future has no callbacks yet, so this calls none.
    if (completed_) settle(*future_, plan_.outputs, exception_);
  }
  return future_;
}

}  // namespace rondo_torch
