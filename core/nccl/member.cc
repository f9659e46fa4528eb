#include "core/nccl/member.h"

#include <algorithm>

#include "core/base/as_error.h"
#include "core/base/awake.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/communicator/access.h"

namespace rondo::nccl {
namespace {

constexpr const char* aborted = "ncclCommAbort was called";
/// How long to wait for threads that have nothing left to do but to end, where the machine is busy.
constexpr std::chrono::milliseconds letting_go{3000};
/// The same for threads that may have more to do.
constexpr std::chrono::milliseconds letting_go_of_kept{250};

}  // namespace

Member::~Member() {
  if (making_.get_id() == std::this_thread::get_id()) {
    making_.detach();  // given up in the making, whose thread was left as the last owner
  } else if (making_.joinable()) {
    making_.join();
  }
}

void Member::make(const Maker& maker) {
  try {
    state_ = maker();
    streamed_->prepare(state_);
    phase_.store(Phase::ready, std::memory_order_seq_cst);
    if (aborted_.load(std::memory_order_seq_cst)) state_->abort(aborted);
  } catch (const std::exception& error) {
    error_ = as_error(error);
    phase_.store(Phase::failed, std::memory_order_release);
    throw;
  }
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
  if (!background_.is_known_done()) {
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

bool Member::poll() {
  if (phase_.load(std::memory_order_acquire) == Phase::making) return false;
  detail::CommunicatorState& state = made();
  if (!background_.is_done()) return false;
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
  streamed_->rethrow_any_failure();
  if (const std::exception_ptr error = background_.error()) std::rethrow_exception(error);
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
  streamed_->withdraw();
}

void Member::revoke() {
  detail::CommunicatorState& state = made();
  revoked_.store(true, std::memory_order_release);
  state.abort("ncclCommRevoke was called");
}

void Member::stop() {
  made().abort("the communicator is shrunk with NCCL_SHRINK_ABORT");
  background_.wait_for_pending();
  background_.wait_for_threads();
  streamed_->finish();
}

void Member::close() {
  if (making_.joinable()) making_.join();
  if (phase_.load(std::memory_order_acquire) != Phase::ready) return;
  streamed_->leave_rendezvous();
  background_.wait_for_threads();
  if (is_revoked() || state_->failure()) {
    streamed_->withdraw();
    // Calls between devices, and those in steps, report their failures themselves.
    const bool silent = is_revoked() || streamed_->between_devices() != nullptr ||
                        streamed_->hierarchy() != nullptr;
    if (const auto disagreement = silent ? std::nullopt : state_->untold()) throw *disagreement;
    return;
  }
  streamed_->finish_in_order();
  std::exception_ptr differs;
  try {
    leave_windows();
  } catch (const Error&) {
    differs = std::current_exception();
  }
  try {
    state_->finalize();
  } catch (const Error&) {
    differs = std::current_exception();
  }
  streamed_->leave();
  if (differs) std::rethrow_exception(differs);
}

/// After close(): whether its threads may go on for as long as graphs or a failed stream do.
bool Member::may_be_kept() const {
  return is_revoked() || state_->failure() || streamed_->is_kept();
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
                        member->streamed().all_ranks() == nullptr;
  if (!may_wait) return;
  std::vector<State> states = member->streamed().parts();
  states.push_back(member->state_);
  // Another owner, such as an open group, may belong to the calling thread.
  const bool kept = member.use_count() > 1 || member->may_be_kept();
  const auto longest = kept ? letting_go_of_kept : letting_go;
  member.reset();
  // The thread that lets go last says goodbye to the other ranks. If the end of the process stopped
  // it in that, they would hear nothing, and take this rank for killed.
  AwakeClock clock;
  const auto end = clock.now() + longest;
  const auto is_held = [](const State& state) { return state.use_count() > 1; };
  while (std::ranges::any_of(states, is_held) && clock.now() < end)
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
  streamed_->finish_in_order();
  streamed_->rethrow_failure();
  streamed_->leave_rendezvous();
  leave_windows();
  state_->finalize();
}

void Member::leave_windows() {
  if (const auto calls = registrations_.one_sided()) calls->leave();
}

}  // namespace rondo::nccl
