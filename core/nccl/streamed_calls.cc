#include "core/nccl/streamed_calls.h"

#include <utility>

#include "core/base/log.h"
#include "core/cuda/memory_operations.h"
#include "core/direct_device/staging_heap.h"

namespace rondo::nccl {

void StreamedCalls::prepare(State state) {
  if (state == nullptr) return;
  state_ = std::move(state);
  // No path but the one in place does without memory operations. So no rank goes on without them.
  const std::string refused = direct_device::first_said(state_->exchange(prepare_through_host()));
  if (!refused.empty()) {
    throw cuda::CudaError(ErrorCode::system, refused,
                          {.rank = state_->rank(), .remedy = cuda::memory_operations_remedy});
  }
  enter_rendezvous();
  // Collective, so every rank does it, also one without a device.
  between_devices_ = direct_device::DeviceCalls::make(state_, traits_.context);
  join_orders();
}

/// Taking page-locked memory may wait for the device, and the device for a peer's call: better now
/// than in a first call. Where it cannot be had, the first call says why.
std::string StreamedCalls::prepare_through_host() {
  if (traits_.context == nullptr) return {};
  try {
    through_host_ = stream::StreamCalls::make(state_, traits_.context);
    has_through_host_.store(true, std::memory_order_release);
    cuda::Kernels::of(traits_.context.get());  // likewise
  } catch (const cuda::MemoryOperationsError& error) {
    return error.message();
  } catch (const std::exception& error) {
    log(LogLevel::info, state_->rank(), std::string("GPU buffers: ") + error.what(),
        LogSubsystem::init);
  }
  return {};
}

/// Called before work that ends when all ranks have come so far. Then each knows whether all meet.
void StreamedCalls::enter_rendezvous() {
  if (through_host_ == nullptr || !traits_.blocking) return;
  const Config& config = state_->config();
  if (config.join_threads == 0 || !config.peer_to_peer) return;
  rendezvous_ = Rendezvous::of(state_->identity(), state_->size());
  rendezvous_->enter(state_->rank(), traits_.context.get(),
                     std::chrono::seconds(config.join_threads));
}

void StreamedCalls::leave_rendezvous() {
  if (rendezvous_) rendezvous_->leave(state_->rank());
}

/// Calls through the host and those between devices follow each other.
void StreamedCalls::join_orders() {
  if (through_host_ == nullptr || between_devices_ == nullptr) return;
  through_host_->orders().follow_also(between_devices_->orders().own());
  between_devices_->orders().follow_also(through_host_->orders().own());
}

const std::shared_ptr<stream::StreamCalls>& StreamedCalls::through_host(cuda::Stream stream) {
  if (through_host_ == nullptr) {
    through_host_ = stream::StreamCalls::make(state_, cuda::borrowed(cuda::context_of(stream)));
    has_through_host_.store(true, std::memory_order_release);
    join_orders();
  }
  return through_host_;
}

void StreamedCalls::finish() {
  if (through_host_) through_host_->finish();
  if (between_devices_) between_devices_->finish();
  if (all_ranks_) all_ranks_->finish();
}

/// Calls through the host first, because they report what they met themselves. Calls between
/// devices also report the communicator's failure.
void StreamedCalls::rethrow_failure() {
  if (has_through_host_.load(std::memory_order_acquire)) through_host_->rethrow_failure();
  if (between_devices_) between_devices_->rethrow_failure();
}

bool StreamedCalls::is_kept() const {
  return (through_host_ && through_host_->is_kept()) ||
         (between_devices_ && between_devices_->is_kept());
}

void StreamedCalls::retire_through_host() {
  if (through_host_) through_host_->retire();
}

void StreamedCalls::retire_between_devices() {
  if (between_devices_) between_devices_->retire();
}

}  // namespace rondo::nccl
