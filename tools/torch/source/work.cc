#include "tools/torch/source/work.h"

#include <c10/util/Exception.h>

#include <string>
#include <utility>

namespace rondo_torch {
namespace {

using c10::ivalue::Future;

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
    : c10d::Work(group->communicator ? group->communicator.rank() : -1, plan.kind, plan.name),
      group_(std::move(group)),
      plan_(std::move(plan)),
      sequence_(sequence),
      timeout_(timeout) {}

void Work::run() {
  try {
    rondo::Group calls;
    {
      const std::scoped_lock lock(group_->mutex);
      for (const Call& call : plan_.calls) make(group_->communicator, call);
    }
    calls.wait();
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
  // One more than parts, so that none is the last while this goes through them.
  // relaxed: nobody else has it yet.
  unfinished_.store(parts_.size() + 1, std::memory_order_relaxed);
  const auto one_less = [self = c10::intrusive_ptr<Work>::reclaim_copy(this), queue] {
    // Acquires and releases: the last one comes behind all others.
    if (self->unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      queue->push([self] { self->complete(); });
  };
  for (rondo::Work& part : parts_) part.when_complete(one_less);
  one_less();
}

/// Waits for the parts on this thread, which moves their data if nobody else does. The first error.
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
  bool first = false;
  std::call_once(completed_once_, [&] {
    first = true;
    std::exception_ptr failure = finish_parts();
    try {
      if (!failure) run_last_tasks();
    } catch (...) {
      failure = std::current_exception();
    }
    set_complete(std::move(failure));
  });
  if (first) settle_future();  // here, as what is chained to it may wait for this very work
}

void Work::set_complete(std::exception_ptr failure) {
  plan_.last.clear();
  plan_.kept.clear();
  {
    const std::scoped_lock lock(mutex_);
    completed_ = true;
    exception_ = std::move(failure);
  }
  cv_.notify_all();
}

/// Behind set_complete(): from then on getFuture() settles the futures that it makes.
void Work::settle_future() {
  c10::intrusive_ptr<Future> future;
  {
    const std::scoped_lock lock(mutex_);
    future = future_;
  }
  if (future && !future->completed()) settle(*future, plan_.outputs, exception_);
}

bool Work::await_completer(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return cv_.wait_for(lock, timeout, [this] { return completed_; });
}

void Work::await_parts(std::chrono::milliseconds timeout) {
  if (timeout.count() <= 0 || timeout >= group_->timeout) return complete();
  if (await_completer(timeout)) return;
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

bool Work::isCompleted() {
  const std::scoped_lock lock(mutex_);
  return completed_;
}

bool Work::isSuccess() const {
  const std::scoped_lock lock(mutex_);
  return completed_ && !exception_;
}

std::exception_ptr Work::exception() const {
  const std::scoped_lock lock(mutex_);
  return exception_;
}

std::vector<at::Tensor> Work::result() { return plan_.outputs; }

void Work::abort() { group_->communicator.abort(std::string(plan_.name) + " was aborted"); }

c10::intrusive_ptr<Future> Work::getFuture() {
  const std::scoped_lock lock(mutex_);
  if (!future_) {
    future_ = make_future();
    // Nobody has chained anything to it yet, so this calls nothing.
    if (completed_) settle(*future_, plan_.outputs, exception_);
  }
  return future_;
}

}  // namespace rondo_torch
