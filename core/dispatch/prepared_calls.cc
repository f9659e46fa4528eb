#include "core/dispatch/prepared_calls.h"

#include <exception>
#include <utility>

#include "core/base/as_error.h"
#include "core/base/first_failure.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/cuda/contexts.h"
#include "core/cuda/memory_operations.h"

namespace rondo::dispatch {

PreparedCalls::PreparedCalls(State state, cuda::SharedContext context)
    : exceptions_(std::uncaught_exceptions()),
      context_(std::move(context)),
      device_(cuda::current_device()),
      calls_(std::make_shared<RankCalls>(context_, true)) {
  try {
    calls_->open_through_host(std::move(state));
  } catch (const cuda::MemoryOperationsError&) {
    // Preparing tells all ranks of it.
  }
  preparing_ = start_thread([this] { prepare(); });
}

void PreparedCalls::prepare() {
  try {
    calls_->prepare(calls_->state());
  } catch (const std::exception& error) {
    error_ = as_error(error);
  }
  if (error_) state().end_with(*error_);  // or ranks that were prepared would wait for this one
  done_.store(true, std::memory_order_release);
}

RankCalls& PreparedCalls::get() {
  if (!maker_.is_this()) {
    throw Error(ErrorCode::invalid_usage, "this StreamCommunicator belongs to the parent process",
                {.rank = state().rank(), .remedy = "make calls in the process that made it"});
  }
  if (has_left_) {
    throw Error(ErrorCode::invalid_usage, "this communicator was finalized",
                {.rank = state().rank(), .remedy = "make a new one"});
  }
  if (preparing_.joinable()) preparing_.join();
  if (error_) throw *error_;
  return *calls_;
}

void PreparedCalls::check() {
  if (!done_.load(std::memory_order_acquire)) {
    if (const auto failure = state().failure()) throw *failure;
    return;
  }
  if (error_) throw *error_;
  calls_->rethrow_any_failure();
}

void PreparedCalls::finish_in_order() {
  RankCalls& calls = get();
  calls.leave_rendezvous();
  calls.finish_in_order();
}

void PreparedCalls::leave() {
  get().leave();
  has_left_ = true;
}

void PreparedCalls::close() {
  if (std::uncaught_exceptions() > exceptions_)
    state().abort("an exception left its calls under way");
  if (has_left_) return;
  RankCalls& calls = get();
  calls.leave_rendezvous();
  if (calls.between_devices() == nullptr && calls.hierarchy() == nullptr) return;
  FirstFailure failure;
  if (!state().failure()) failure.watch([&] { calls.finish_in_order(); });
  if (state().failure()) {
    calls.withdraw();
  } else {
    calls.leave();
  }
  failure.rethrow();
}

PreparedCalls::~PreparedCalls() {
  if (!maker_.is_this()) {  // a child by fork() has none of the threads
    static_cast<void>(std::make_unique<std::shared_ptr<RankCalls>>(std::move(calls_)).release());
    if (preparing_.joinable()) preparing_.detach();
    return;
  }
  try {
    close();
  } catch (const std::exception& error) {
    log(LogLevel::warn, state().rank(), std::string("at the end of its calls: ") + error.what(),
        LogSubsystem::destroy);
  }
}

}  // namespace rondo::dispatch
