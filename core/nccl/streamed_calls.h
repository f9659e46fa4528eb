// StreamedCalls: a member's calls in the order of streams, of all kinds: through the host, between
// devices, and by one thread for all ranks.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/direct_device/device_calls.h"
#include "core/nccl/background.h"
#include "core/nccl/rendezvous.h"
#include "core/nccl/settings.h"
#include "core/stream/all_ranks.h"

namespace rondo::nccl {

/// For the thread that makes calls, but for rethrow_failure(), which any thread may call once
/// prepare() has returned.
class StreamedCalls {
 public:
  /// `traits` outlives it.
  explicit StreamedCalls(const Traits& traits) : traits_(traits) {}

  /// Collective, once the communicator is made; null: this rank is in none. Throws CudaError on all
  /// ranks where streams of one of them cannot write words and wait for them.
  void prepare(State state);
  /// Calls through the host. The first call's `stream` says which context the streams are of.
  /// Throws cuda::CudaError.
  const std::shared_ptr<stream::StreamCalls>& through_host(cuda::Stream stream);
  bool has_through_host() const { return through_host_ != nullptr; }
  /// Null where there cannot be any.
  direct_device::DeviceCalls* between_devices() const { return between_devices_.get(); }
  /// Null: none was made yet. All members of a communicator have the same.
  const std::shared_ptr<stream::AllRanks>& all_ranks() const { return all_ranks_; }
  void set_all_ranks(std::shared_ptr<stream::AllRanks> all_ranks) {
    all_ranks_ = std::move(all_ranks);
  }
  /// Where its threads meet those of other ranks of this process; null: they make their calls
  /// alone.
  Rendezvous* rendezvous() const { return rendezvous_.get(); }
  /// Its threads meet no others from here on. Idempotent.
  void leave_rendezvous();

  /// Waits for all calls that were made. Throws cuda::CudaError.
  void finish();
  /// Throws the failure of calls, if they failed.
  void rethrow_failure();
  /// After their end: whether threads may go on for as long as graphs or a failed stream do.
  bool is_kept() const;
  /// No further call is made through the host, or between devices.
  void retire_through_host();
  void retire_between_devices();

 private:
  /// Returns why streams cannot write words and wait for them; empty: they can, as far as is known.
  std::string prepare_through_host();
  void enter_rendezvous();
  void join_orders();

  const Traits& traits_;
  State state_{};
  /// Release when `through_host_` is written, acquire where another thread asks for its failure.
  std::atomic<bool> has_through_host_{false};
  std::shared_ptr<stream::StreamCalls> through_host_{};
  std::shared_ptr<direct_device::DeviceCalls> between_devices_{};
  std::shared_ptr<stream::AllRanks> all_ranks_{};
  std::shared_ptr<Rendezvous> rendezvous_{};
};

}  // namespace rondo::nccl
