// RankCalls: one rank's calls in the order of CUDA streams, of all kinds: through the host's memory,
// between devices, in steps, and by one thread for all ranks. All APIs for device buffers have one for each
// rank, and put calls into streams by dispatch.h.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "core/base/fork.h"
#include "core/direct_device/device_calls.h"
#include "core/dispatch/rendezvous.h"
#include "core/stream/all_ranks.h"

namespace rondo::dispatch {

using State = std::shared_ptr<detail::CommunicatorState>;
class Hierarchy;

/// For the thread that makes calls, but for withdraw(), leave_at_exit(), rethrow_failure() and
/// rethrow_any_failure(). Any thread may call these once prepare() has returned.
class RankCalls : public std::enable_shared_from_this<RankCalls> {
 public:
  /// `context`: of the streams; null: the first call's stream says it. `meets`: its threads may
  /// wait for those of other ranks of this process (rendezvous.h).
  RankCalls(cuda::SharedContext context, bool meets);
  /// Calls that are under way go on.
  ~RankCalls();
  RankCalls(const RankCalls&) = delete;
  RankCalls& operator=(const RankCalls&) = delete;

  /// Makes the calls through the host, before prepare(), which does it otherwise. Not collective.
  /// Throws cuda::CudaError.
  void open_through_host(State state);
  /// Collective, once the communicator is made; null: this rank is in none. Throws CudaError on all
  /// ranks where streams of one of them cannot write words and wait for them.
  void prepare(State state);
  /// Null before either.
  const State& state() const { return state_; }
  /// The communicators that are parts of it, for calls in steps, but for those whose calls one thread
  /// has made for all ranks: these ranks hold each other's.
  std::vector<State> parts() const;

  /// Calls through the host. Throws cuda::CudaError.
  const std::shared_ptr<stream::StreamCalls>& through_host(cuda::Stream stream);
  bool has_through_host() const { return through_host_ != nullptr; }
  /// Null where there cannot be any.
  direct_device::DeviceCalls* between_devices() const { return between_devices_.get(); }
  /// Calls in steps, between GPUs of several hosts; null where there cannot be any.
  Hierarchy* hierarchy() const { return hierarchy_.get(); }
  /// Null: none was made yet. All ranks of a communicator have the same.
  const std::shared_ptr<stream::AllRanks>& all_ranks() const { return all_ranks_; }
  void set_all_ranks(std::shared_ptr<stream::AllRanks> all_ranks) {
    all_ranks_ = std::move(all_ranks);
  }
  /// Where its threads meet those of other ranks of this process; null: they make their calls
  /// alone.
  Rendezvous* rendezvous() const { return rendezvous_.get(); }
  /// Its threads meet no others from here on. Idempotent.
  void leave_rendezvous();

  /// True from the second time on.
  bool was_warned() { return std::exchange(was_warned_, true); }

  /// Waits for all calls that were made. Throws cuda::CudaError.
  void finish();
  /// The same, and until the other ranks have read what this one shows. Throws Error{timeout}, too.
  void finish_in_order();
  /// After that: tells the other ranks that this one makes no further call.
  void leave();
  /// To be called after a failure, before the program's memory may go: see DeviceCalls::withdraw().
  /// Waits 5 seconds at most.
  void withdraw();
  /// For a process that ends, where the communicator has not failed: waits for readers and tells
  /// the other ranks, as finish_in_order() and leave(). Calls no driver, except after a failure.
  /// Does nothing in a process that was forked from its own.
  void leave_at_exit();

  /// Throws the failure of calls, if they failed.
  void rethrow_failure();
  /// The same, and that of the communicator.
  void rethrow_any_failure();
  /// After their end: whether threads may go on for as long as graphs or a failed stream do.
  bool is_kept() const;

 private:
  /// Returns why streams cannot write words and wait for them; empty: they can, as far as is known.
  std::string try_through_host();
  void enter_rendezvous();
  std::vector<stream::Orders*> orders() const;
  void join_orders() const;

  const cuda::SharedContext context_;  ///< goes last
  const bool meets_;
  const MakerProcess maker_{};
  State state_{};
  /// Release when `through_host_` is written, acquire where another thread asks for its failure.
  std::atomic<bool> has_through_host_{false};
  std::shared_ptr<stream::StreamCalls> through_host_{};
  std::shared_ptr<direct_device::DeviceCalls> between_devices_{};
  std::unique_ptr<Hierarchy> hierarchy_;
  std::shared_ptr<stream::AllRanks> all_ranks_{};
  std::shared_ptr<Rendezvous> rendezvous_{};
  bool was_warned_ = false;
};

}  // namespace rondo::dispatch
