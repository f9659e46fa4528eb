#include "core/nccl/member.h"

#include "core/base/awake.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/communicator/access.h"
#include "core/nccl/handles.h"

namespace rondo::nccl {
namespace {

/// Ends the turn, whatever the work ends with.
struct TurnEnd {
  std::promise<void>& over;
  ~TurnEnd() { over.set_value(); }
};

constexpr const char* aborted = "ncclCommAbort was called";
/// How long to wait for threads that have nothing left to do but to end, where the machine is busy.
constexpr std::chrono::milliseconds letting_go{3000};
/// The same for threads that may have more to do.
constexpr std::chrono::milliseconds letting_go_of_kept{250};

}  // namespace

Member::~Member() {
  if (rendezvous_) rendezvous_->leave(state_->rank());
  if (streams_) streams_->retire();
  if (making_.get_id() == std::this_thread::get_id()) {
    making_.detach();  // given up in the making, whose thread was left as the last owner
  } else if (making_.joinable()) {
    making_.join();
  }
  if (device_calls_) device_calls_->retire();
}

Maker Member::in_turn(Maker maker) {
  const auto over = std::make_shared<std::promise<void>>();
  const std::scoped_lock lock(mutex_);
  const auto before = std::exchange(turn_, over->get_future().share());
  return [before, over, maker = std::move(maker)] {
    if (before.valid()) before.wait();
    const TurnEnd end{*over};
    return maker();
  };
}

void Member::make(const Maker& maker) {
  try {
    state_ = maker();
    prepare_streams();
    enter_rendezvous();
    prepare_device_calls();
    if (device_calls_ && state_->leaves_with_process()) leave_handles_at_exit();
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

/// Taking page-locked memory may wait for the device, and the device for a peer's call: better now
/// than in a first call. Where it cannot be had, the first call says why.
void Member::prepare_streams() {
  if (traits_.context == nullptr || state_ == nullptr) return;
  try {
    streams_ = stream::StreamCalls::make(state_, traits_.context);
    has_streams_.store(true, std::memory_order_release);
    cuda::Kernels::of(traits_.context.get());  // likewise
  } catch (const std::exception& error) {
    log(LogLevel::info, state_->rank(), std::string("GPU buffers: ") + error.what(),
        LogSubsystem::init);
  }
}

/// Called before work that ends when all ranks have come so far. Then each knows whether all meet.
void Member::enter_rendezvous() {
  if (streams_ == nullptr || !traits_.blocking) return;
  const Config& config = state_->config();
  if (config.join_threads == 0 || !config.peer_to_peer) return;
  rendezvous_ = Rendezvous::of(state_->identity(), state_->size());
  rendezvous_->enter(state_->rank(), traits_.context.get(),
                     std::chrono::seconds(config.join_threads));
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
  making_ = start_thread([self = shared_from_this(), maker = std::move(maker)] {
    try {
      self->make(maker);
    } catch (const std::exception&) {
      // poll() reports it.
    }
  });
}

void Member::work_in_background(Maker work) {
  std::promise<void> over;
  std::future<void> end = over.get_future();
  const std::scoped_lock lock(mutex_);
  background_.reserve(background_.size() + 1);  // or a thread would be forgotten
  // Detached: an abort does not wait for it.
  start_thread([self = shared_from_this(), work = std::move(work),
                over = std::move(over)]() mutable {
    try {
      work();
      over.set_value();
    } catch (const Error&) {
      over.set_exception(std::current_exception());
    } catch (const std::exception& error) {
      over.set_exception(std::make_exception_ptr(Error(ErrorCode::internal, error.what())));
    }
  }).detach();
  work_error_ = nullptr;
  background_.push_back(std::move(end));
  unfinished_.store(true, std::memory_order_relaxed);
}

void Member::finish_background() {
  std::vector<std::future<void>> ending;
  {
    const std::scoped_lock lock(mutex_);
    ending.swap(background_);
  }
  for (const std::future<void>& each : ending) each.wait();
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
  throw Error(ErrorCode::invalid_argument, "this communicator is still being made",
              {.remedy = "call ncclCommGetAsyncError until it says ncclSuccess"});
}

detail::CommunicatorState& Member::parent() {
  detail::CommunicatorState& state = made();
  // relaxed: only the thread that makes calls sets and needs it.
  if (unfinished_.load(std::memory_order_relaxed) && !works_are_done()) {
    throw Error(ErrorCode::invalid_argument, "an earlier call is still in progress",
                {.remedy = "call ncclCommGetAsyncError until it says ncclSuccess"});
  }
  return state;
}

detail::CommunicatorState& Member::state() {
  detail::CommunicatorState& state = parent();
  if (state.failure()) state.note_told();  // no call succeeds now, whatever path it takes
  if (is_revoked()) {
    throw Error(ErrorCode::invalid_usage, "this communicator was revoked",
                {.rank = state.rank(), .remedy = "split, shrink or destroy it"});
  }
  if (finalized_) {
    throw Error(ErrorCode::invalid_usage, "this communicator was finalized",
                {.rank = state.rank(), .remedy = "make a new one"});
  }
  return state;
}

bool Member::works_are_done() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(pending_, [&](Pending& pending) {
    try {
      return pending.work.test();
    } catch (const Error&) {
      if (!work_error_) work_error_ = std::current_exception();
      return true;
    }
  });
  std::erase_if(background_, [&](std::future<void>& each) {
    if (each.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    try {
      each.get();
    } catch (const Error&) {
      if (!work_error_) work_error_ = std::current_exception();
    }
    return true;
  });
  const bool done = pending_.empty() && background_.empty();
  if (done) unfinished_.store(false, std::memory_order_relaxed);
  return done;
}

bool Member::poll() {
  if (phase_.load(std::memory_order_acquire) == Phase::making) return false;
  detail::CommunicatorState& state = made();
  if (!works_are_done()) return false;
  if (is_revoked()) return true;
  try {
    rethrow_failure();
  } catch (const std::exception&) {
    state.note_told();
    throw;
  }
  return true;
}

void Member::rethrow_failure() {
  const detail::CommunicatorState& state = *state_;
  check_streams();
  if (const auto failure = state.failure()) {
    check_streams();  // which may have failed only now, and told the communicator
    throw *failure;
  }
  const std::scoped_lock lock(mutex_);
  if (work_error_) std::rethrow_exception(work_error_);
}

void Member::keep(Pending pending) {
  const std::scoped_lock lock(mutex_);
  work_error_ = nullptr;
  pending_.push_back(std::move(pending));
  unfinished_.store(true, std::memory_order_relaxed);
}

bool Member::is_left_to_parent(std::shared_ptr<Member>& member) {
  if (member->maker_.is_this()) return false;
  static_cast<void>(std::make_unique<std::shared_ptr<Member>>(std::move(member)).release());
  return true;
}

void Member::abort() {
  aborted_.store(true, std::memory_order_seq_cst);
  if (phase_.load(std::memory_order_seq_cst) != Phase::ready) return;
  state_->abort(aborted);
  if (device_calls_) device_calls_->withdraw();
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
  finish_background();
  finish_streams();
}

void Member::close() {
  if (making_.joinable()) making_.join();
  if (phase_.load(std::memory_order_acquire) != Phase::ready) return;
  if (rendezvous_) rendezvous_->leave(state_->rank());
  finish_background();
  if (is_revoked() || state_->failure()) {
    if (device_calls_) device_calls_->withdraw();
    // Calls between devices report their failures themselves.
    const bool silent = is_revoked() || device_calls_ != nullptr;
    if (const auto disagreement = silent ? std::nullopt : state_->untold()) throw *disagreement;
    return;
  }
  finish_streams();
  if (device_calls_) device_calls_->wait_for_readers();
  std::exception_ptr differs;
  try {
    state_->finalize();
  } catch (const Error&) {
    differs = std::current_exception();
  }
  if (device_calls_) {
    device_calls_->leave();
    device_calls_->withdraw();  // in case a peer makes one call more than the others
  }
  if (differs) std::rethrow_exception(differs);
}

void Member::leave_at_exit() {
  if (!maker_.is_this()) return;
  direct_device::DeviceCalls* const calls = device_calls();
  if (calls == nullptr || is_revoked() || state_->failure()) return;
  calls->wait_for_readers();
  calls->leave();
}

/// After close(): whether its threads may go on for as long as graphs or a failed stream do.
bool Member::may_be_kept() const {
  return is_revoked() || state_->failure() || (streams_ && streams_->is_kept()) ||
         (device_calls_ && device_calls_->is_kept());
}

void Member::give_up(std::shared_ptr<Member> member) {
  if (is_left_to_parent(member)) return;
  std::exception_ptr failure;
  try {
    member->close();
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  let_go(std::move(member));
  if (failure) std::rethrow_exception(failure);
}

void Member::let_go(std::shared_ptr<Member> member) {
  // Ranks that one launch has served hold each other's state, and have no peers in other processes.
  const bool may_wait = member->phase_.load(std::memory_order_acquire) == Phase::ready &&
                        member->all_ranks() == nullptr;
  if (!may_wait) return;
  const State state = member->state_;
  // Another owner, such as an open group, may belong to the calling thread.
  const bool kept = member.use_count() > 1 || member->may_be_kept();
  const auto longest = kept ? letting_go_of_kept : letting_go;
  member.reset();
  // The thread that lets go last says goodbye to the other ranks. If the end of the process stopped
  // it in that, they would hear nothing, and take this rank for killed.
  AwakeClock clock;
  const auto end = clock.now() + longest;
  while (state.use_count() > 1 && clock.now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void Member::finalize() {
  if (is_revoked()) {
    throw Error(ErrorCode::invalid_usage, "a revoked communicator cannot be finalized",
                {.remedy = "destroy it"});
  }
  made();
  if (traits_.blocking) {
    finalized_ = true;
    leave_in_order();
    return;
  }
  work_in_background(in_turn([this]() -> State {
    leave_in_order();
    return nullptr;
  }));
  finalized_ = true;
}

void Member::leave_in_order() {
  finish_streams();
  if (device_calls_) device_calls_->wait_for_readers();
  check_streams();
  if (rendezvous_) rendezvous_->leave(state_->rank());
  state_->finalize();
}

stream::StreamCalls& Member::streams(cuda::Stream stream) {
  if (streams_ == nullptr) {
    cuda::Context context = nullptr;
    cuda::check(cuda::driver().stream_get_ctx(stream, &context), "cuStreamGetCtx");
    streams_ = stream::StreamCalls::make(state_, cuda::borrowed(context));
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

/// Calls through the host first, because they report what they met themselves. Calls between
/// devices also report the communicator's failure.
void Member::check_streams() {
  if (has_streams_.load(std::memory_order_acquire)) streams_->rethrow_failure();
  if (device_calls_) device_calls_->rethrow_failure();
}

}  // namespace rondo::nccl
