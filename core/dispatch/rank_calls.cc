#include "core/dispatch/rank_calls.h"

#include <unistd.h>

#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/exit.h"
#include "core/base/log.h"
#include "core/base/undying.h"
#include "core/cuda/memory_operations.h"
#include "core/direct_device/staging_heap.h"
#include "core/dispatch/hierarchy.h"

namespace rondo::dispatch {
namespace {

/// For the other ranks to read what this process shows: longer than GPUs take for a call.
constexpr std::chrono::milliseconds longest_reading{2000};

/// Global, as the end of a process is. Never destroyed: ranks may still be in calls on threads of
/// their own while a process exits.
struct Leaving {
  std::mutex mutex{};
  pid_t process = 0;                            ///< whose exit has its handler; under mutex
  std::vector<std::weak_ptr<RankCalls>> all{};  ///< under mutex
};

Leaving& leaving() {
  static Leaving& leaving = *undying<Leaving>();
  return leaving;
}

void leave_all(bool in_order) {
  if (!in_order) return;
  std::vector<std::shared_ptr<RankCalls>> all;
  {
    const std::scoped_lock lock(leaving().mutex);
    for (const auto& each : leaving().all) {
      if (auto calls = each.lock()) all.push_back(std::move(calls));
    }
  }
  if (all.empty()) return;
  run_for(longest_reading, all.size(), [all](std::size_t i) { all[i]->leave_at_exit(); });
}

/// Its calls between devices are left in order, too, should the process end without a word.
void add_to_leaving(std::weak_ptr<RankCalls> calls) {
  const std::scoped_lock lock(leaving().mutex);
  std::erase_if(leaving().all, [](const auto& each) { return each.expired(); });
  leaving().all.push_back(std::move(calls));
  // The communicator was registered to be left before, so this runs before that.
  if (std::exchange(leaving().process, ::getpid()) != ::getpid()) at_process_exit(leave_all);
}

}  // namespace

RankCalls::RankCalls(cuda::SharedContext context, bool meets)
    : context_(std::move(context)), meets_(meets) {}

RankCalls::~RankCalls() {
  leave_rendezvous();
  if (through_host_) through_host_->retire();
  if (between_devices_) between_devices_->retire();
}

void RankCalls::open_through_host(State state) {
  state_ = std::move(state);
  through_host_ = stream::StreamCalls::make(state_, context_);
  has_through_host_.store(true, std::memory_order_release);
}

void RankCalls::prepare(State state) {
  if (state == nullptr) return;
  if (state_ == nullptr) state_ = std::move(state);  // or other threads use it already
  // No path but the one in place does without memory operations. So no rank goes on without them.
  const std::string refused = direct_device::first_said(state_->exchange(try_through_host()));
  if (!refused.empty()) {
    throw cuda::CudaError(ErrorCode::system, refused,
                          {.rank = state_->rank(), .remedy = cuda::memory_operations_remedy});
  }
  enter_rendezvous();
  // Collective, so every rank does it, also one without a device.
  between_devices_ = direct_device::DeviceCalls::make(state_, context_);
  hierarchy_ = Hierarchy::make(state_, context_);
  join_orders();
  if (between_devices_ != nullptr && state_->leaves_with_process())
    add_to_leaving(weak_from_this());
}

/// Taking page-locked memory may wait for the device, and the device for a peer's call: better now
/// than in a first call. Where it cannot be had, the first call says why.
std::string RankCalls::try_through_host() {
  if (context_ == nullptr) return {};
  try {
    if (through_host_ == nullptr) open_through_host(state_);
    cuda::Kernels::of(context_.get());  // likewise
  } catch (const cuda::MemoryOperationsError& error) {
    return error.message();
  } catch (const std::exception& error) {
    log(LogLevel::info, state_->rank(), std::string("GPU buffers: ") + error.what(),
        LogSubsystem::init);
  }
  return {};
}

/// Called before work that ends when all ranks have come so far. Then each knows whether all meet.
void RankCalls::enter_rendezvous() {
  if (through_host_ == nullptr || !meets_) return;
  const Config& config = state_->config();
  if (config.join_threads == 0 || !config.peer_to_peer) return;
  rendezvous_ = Rendezvous::of(state_->identity(), state_->size());
  rendezvous_->enter(state_->rank(), context_.get(), std::chrono::seconds(config.join_threads));
}

void RankCalls::leave_rendezvous() {
  if (hierarchy_) hierarchy_->leave_rendezvous();
  if (rendezvous_) rendezvous_->leave(state_->rank());
}

std::vector<State> RankCalls::parts() const {
  std::vector<State> states;
  if (!hierarchy_) return states;
  for (const RankCalls* const part : {&hierarchy_->inside(), &hierarchy_->across()})
    if (part->all_ranks() == nullptr) states.push_back(part->state());
  return states;
}

std::vector<stream::Orders*> RankCalls::orders() const {
  std::vector<stream::Orders*> all;
  if (hierarchy_) all.push_back(&hierarchy_->orders());
  if (through_host_) all.push_back(&through_host_->orders());
  if (between_devices_) all.push_back(&between_devices_->orders());
  return all;
}

/// Calls follow each other, whatever path they take.
void RankCalls::join_orders() const {
  const std::vector<stream::Orders*> all = orders();
  for (stream::Orders* const one : all) {
    for (const stream::Orders* const other : all)
      if (other != one) one->follow_also(other->own());
  }
}

const std::shared_ptr<stream::StreamCalls>& RankCalls::through_host(cuda::Stream stream) {
  if (through_host_ == nullptr) {
    through_host_ = stream::StreamCalls::make(state_, cuda::borrowed(cuda::context_of(stream)));
    has_through_host_.store(true, std::memory_order_release);
    join_orders();
  }
  return through_host_;
}

void RankCalls::finish() {
  if (through_host_) through_host_->finish();
  if (between_devices_) between_devices_->finish();
  if (hierarchy_) hierarchy_->finish();
  if (all_ranks_) all_ranks_->finish();
}

/// Calls through the host first, because they report what they met themselves. Calls between
/// devices also report the communicator's failure.
void RankCalls::rethrow_failure() {
  if (has_through_host_.load(std::memory_order_acquire)) through_host_->rethrow_failure();
  if (between_devices_) between_devices_->rethrow_failure();
  if (hierarchy_) hierarchy_->rethrow_failure();
}

void RankCalls::rethrow_any_failure() {
  rethrow_failure();
  const auto failure = state_->failure();
  if (!failure) return;
  rethrow_failure();  // which may have failed only now, and told the communicator
  throw *failure;
}

void RankCalls::finish_in_order() {
  finish();
  if (between_devices_) between_devices_->wait_for_readers();
  if (hierarchy_) hierarchy_->finish_in_order();
}

void RankCalls::leave() {
  if (hierarchy_) hierarchy_->leave();
  if (between_devices_ == nullptr) return;
  between_devices_->leave();
  between_devices_->withdraw();  // in case a peer makes one call more than the others
}

void RankCalls::withdraw() {
  if (hierarchy_) hierarchy_->withdraw();
  if (between_devices_) between_devices_->withdraw();
}

void RankCalls::leave_at_exit() {
  if (!maker_.is_this() || state_->failure()) return;
  between_devices_->wait_for_readers();
  between_devices_->leave();
}

bool RankCalls::is_kept() const {
  return (through_host_ && through_host_->is_kept()) ||
         (between_devices_ && between_devices_->is_kept()) || (hierarchy_ && hierarchy_->is_kept());
}

}  // namespace rondo::dispatch
