#include "core/nccl/member.h"

#include "core/base/log.h"
#include "core/communicator/access.h"

namespace rondo::nccl {
namespace {

constexpr const char* aborted = "ncclCommAbort was called";

}  // namespace

Member::~Member() {
  if (streams_) streams_->retire();
  if (making_.get_id() == std::this_thread::get_id()) {
    making_.detach();  // given up in the making, whose thread was left as the last owner
  } else if (making_.joinable()) {
    making_.join();
  }
  if (device_calls_) device_calls_->retire();
}

void Member::make(const Maker& maker) {
  try {
    state_ = maker();
    prepare_streams();
    prepare_device_calls();
    phase_.store(Phase::ready, std::memory_order_seq_cst);
    if (aborted_.load(std::memory_order_seq_cst)) state_->abort(aborted);
  } catch (const Error& error) {
    error_ = error;
    phase_.store(Phase::failed, std::memory_order_release);
    throw;
  } catch (const std::exception& error) {
    error_ = Error(ErrorCode::internal, error.what());
    phase_.store(Phase::failed, std::memory_order_release);
    throw;
  }
}

/// Taking page-locked memory may wait for the device, and that for a peer's call: better now than
/// in a first call. Where it cannot be had, the first call says why.
void Member::prepare_streams() {
  if (traits_.context == nullptr || state_ == nullptr) return;
  try {
    streams_ = stream::StreamCalls::make(state_, traits_.context);
    has_streams_.store(true, std::memory_order_release);
    cuda::Kernels::of(traits_.context);  // likewise
  } catch (const Error& error) {
    log(LogLevel::info, state_->rank(), std::string("GPU buffers: ") + error.what());
  }
}

/// Collective, so every rank does it, also one without a device.
void Member::prepare_device_calls() {
  if (state_ == nullptr) return;
  device_calls_ = direct_device::DeviceCalls::make(state_, traits_.context);
  join_orders();
}

/// Calls through the host and those between devices follow each other.
void Member::join_orders() {
  if (streams_ == nullptr || device_calls_ == nullptr) return;
  streams_->follow_also(device_calls_->order());
  device_calls_->follow_also(streams_->order());
}

void Member::make_in_background(Maker maker) {
  making_ = std::thread([self = shared_from_this(), maker = std::move(maker)] {
    try {
      self->make(maker);
    } catch (const std::exception&) {
      // poll() tells.
    }
  });
}

detail::CommunicatorState& Member::made() {
  switch (phase_.load(std::memory_order_acquire)) {
    case Phase::failed:
      throw *error_;
    case Phase::making:
      break;
    case Phase::ready:
      return *state_;
  }
  throw Error(ErrorCode::invalid_argument, "this communicator is still in the making",
              {.remedy = "ask ncclCommGetAsyncError until it says ncclSuccess"});
}

detail::CommunicatorState& Member::parent() {
  detail::CommunicatorState& state = made();
  // relaxed: only the thread that makes calls sets and needs it.
  if (unfinished_.load(std::memory_order_relaxed) && !works_are_done()) {
    throw Error(ErrorCode::invalid_argument, "the call before is still in progress",
                {.remedy = "ask ncclCommGetAsyncError until it says ncclSuccess"});
  }
  return state;
}

detail::CommunicatorState& Member::state() {
  detail::CommunicatorState& state = parent();
  if (is_revoked()) {
    throw Error(ErrorCode::invalid_usage, "this communicator was revoked",
                {.rank = state.rank(), .remedy = "split, shrink or destroy it"});
  }
  return state;
}

bool Member::works_are_done() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(pending_, [&](Pending& pending) {
    try {
      return pending.work.test();
    } catch (const Error& error) {
      if (!work_error_) work_error_ = error;
      return true;
    }
  });
  if (pending_.empty()) unfinished_.store(false, std::memory_order_relaxed);
  return pending_.empty();
}

bool Member::poll() {
  if (phase_.load(std::memory_order_acquire) == Phase::making) return false;
  const detail::CommunicatorState& state = made();
  if (!works_are_done()) return false;
  if (is_revoked()) return true;
  check_streams();
  if (const auto failure = state.failure()) {
    check_streams();  // which may have failed only now, and told the communicator
    throw *failure;
  }
  const std::scoped_lock lock(mutex_);
  if (work_error_) throw *work_error_;
  return true;
}

void Member::keep(Pending pending) {
  const std::scoped_lock lock(mutex_);
  work_error_.reset();
  pending_.push_back(std::move(pending));
  unfinished_.store(true, std::memory_order_relaxed);
}

void Member::abort() {
  aborted_.store(true, std::memory_order_seq_cst);
  if (phase_.load(std::memory_order_seq_cst) == Phase::ready) state_->abort(aborted);
}

void Member::revoke() {
  detail::CommunicatorState& state = made();
  revoked_.store(true, std::memory_order_release);
  state.abort("ncclCommRevoke was called");
}

void Member::stop() {
  made().abort("the communicator is shrunk with NCCL_SHRINK_ABORT");
  std::vector<Pending> ended;
  {
    const std::scoped_lock lock(mutex_);
    ended.swap(pending_);
  }
  for (Pending& pending : ended) {
    try {
      pending.work.wait();
    } catch (const Error&) {
      // It was stopped, as was asked for.
    }
  }
  finish_streams();
}

void Member::close() {
  if (making_.joinable()) making_.join();
  if (phase_.load(std::memory_order_acquire) != Phase::ready) return;
  if (is_revoked() || state_->failure()) return;
  finish_streams();
  if (device_calls_) device_calls_->wait_for_readers();
  state_->finalize();
}

void Member::finalize() {
  if (is_revoked()) {
    throw Error(ErrorCode::invalid_usage, "a revoked communicator cannot be finalized",
                {.remedy = "destroy it"});
  }
  detail::CommunicatorState& state = made();
  finish_streams();
  if (device_calls_) device_calls_->wait_for_readers();
  check_streams();
  state.finalize();
}

stream::StreamCalls& Member::streams(cuda::Stream stream) {
  if (streams_ == nullptr) {
    cuda::Context context = nullptr;
    cuda::check(cuda::driver().stream_get_ctx(stream, &context), "cuStreamGetCtx");
    streams_ = stream::StreamCalls::make(state_, context);
    has_streams_.store(true, std::memory_order_release);
    join_orders();
  }
  return *streams_;
}

void Member::finish_streams() {
  if (streams_) streams_->finish();
  if (device_calls_) device_calls_->finish();
  if (all_ranks_) all_ranks_->finish();
}

/// Calls through the host first: they tell what they met themselves, calls between devices also the
/// communicator's word.
void Member::check_streams() {
  if (has_streams_.load(std::memory_order_acquire)) streams_->rethrow_failure();
  if (device_calls_) device_calls_->rethrow_failure();
}

}  // namespace rondo::nccl
