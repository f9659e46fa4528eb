// Member: one rank of a communicator as a client of the C API holds it: a communicator of rondo's
// that may still be in the making, and what the C API hangs on it.
//
// Threads: one at a time, as NCCL asks for, but poll() and abort() may come from any. Whoever uses
// a member shares its ownership, so one that another thread aborts stays in memory until it is
// left.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/communicator/state.h"
#include "core/direct_device/device_calls.h"
#include "core/nccl/operators.h"
#include "core/nccl/settings.h"
#include "core/stream/all_ranks.h"

namespace rondo::nccl {

using State = std::shared_ptr<detail::CommunicatorState>;
/// Makes the communicator; collective. Null: this rank is in none.
using Maker = std::function<State()>;

/// Asynchronous work and the memory it reads that is not the user's.
struct Pending {
  Work work{};
  std::vector<std::byte> scratch{};
};

/// A buffer that the client registered.
struct Registration {
  void* pointer = nullptr;
  std::size_t bytes = 0;
};

class Member : public std::enable_shared_from_this<Member> {
 public:
  explicit Member(const Traits& traits) : traits_(traits) {}
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  const Traits& traits() const { return traits_; }

  /// Makes the communicator on this thread. Throws what `maker` throws.
  void make(const Maker& maker);
  /// The same on a thread of its own; poll() says when it is done.
  void make_in_background(Maker maker);

  /// The communicator, made and with nothing under way. Throws Error{invalid_argument} while
  /// something is, Error{invalid_usage} when it was revoked, and the error that it failed with.
  detail::CommunicatorState& state();
  /// The same for making others from it, which a revoked or failed one can do.
  detail::CommunicatorState& parent();
  /// For work to hold on to; once made.
  const State& share() const { return state_; }
  bool is_revoked() const { return revoked_.load(std::memory_order_acquire); }

  /// True when nothing is under way. Throws the error that the communicator or work on it failed
  /// with. Any thread.
  bool poll();
  /// Leaves work under way: poll() asks after it.
  void keep(Pending pending);

  /// Ends everything under way, here and on the other ranks; waits for nothing. What is still in
  /// the making, with ranks that may never come, ends by itself when it is made or fails. Any
  /// thread.
  void abort();
  void revoke();
  /// Ends everything under way and waits for its end, so that others can be made from it.
  void stop();
  void finalize();
  /// Before it is given up: finalizes what is neither revoked nor broken.
  void close();

  /// Its calls in streams' order, for streams of the context that `stream` of the first call is of.
  /// Throws cuda::CudaError.
  stream::StreamCalls& streams(cuda::Stream stream);
  /// Of the thread that makes calls.
  bool has_streams() const { return streams_ != nullptr; }
  /// Its share in them.
  std::shared_ptr<stream::StreamCalls> share_streams(cuda::Stream stream) {
    streams(stream);
    return streams_;
  }
  /// Its calls between devices; null where they cannot be. Of the thread that makes calls.
  direct_device::DeviceCalls* device_calls() const {
    return phase_.load(std::memory_order_acquire) == Phase::ready ? device_calls_.get() : nullptr;
  }
  /// Calls that a thread makes for all ranks at once; null: none was made yet. All members of a
  /// communicator have the same.
  const std::shared_ptr<stream::AllRanks>& all_ranks() const { return all_ranks_; }
  void set_all_ranks(std::shared_ptr<stream::AllRanks> all_ranks) {
    all_ranks_ = std::move(all_ranks);
  }
  /// Waits for all of all three that were made. Throws cuda::CudaError.
  void finish_streams();

  Operators& operators() { return operators_; }
  std::map<std::uintptr_t, Registration>& registrations() { return registrations_; }

 private:
  enum class Phase { making, ready, failed };

  void prepare_streams();
  void prepare_device_calls();
  void join_orders();
  detail::CommunicatorState& made();
  bool works_are_done();
  /// Throws the failure of calls in streams, if they failed.
  void check_streams();

  const Traits traits_;
  /// Release when `state_` or `error_` is written, acquire before they are read. seq_cst with
  /// `aborted_`: who makes and who aborts each store one and load the other, so one of them sees
  /// both.
  std::atomic<Phase> phase_{Phase::making};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> revoked_{false};     ///< release and acquire: what was aborted stays so
  std::atomic<bool> unfinished_{false};  ///< relaxed: a hint that `pending_` may hold something
  State state_{};
  std::optional<Error> error_{};  ///< why it could not be made
  std::mutex mutex_{};
  std::vector<Pending> pending_{};     ///< under mutex_
  std::optional<Error> work_error_{};  ///< under mutex_
  /// Release when `streams_` is written, acquire where another thread asks for its failure.
  std::atomic<bool> has_streams_{false};
  std::shared_ptr<stream::StreamCalls> streams_{};
  /// Written before `phase_` says that it is ready.
  std::shared_ptr<direct_device::DeviceCalls> device_calls_{};
  std::shared_ptr<stream::AllRanks> all_ranks_{};
  Operators operators_{};
  std::map<std::uintptr_t, Registration> registrations_{};  ///< by the handle's number
  std::thread making_{};
};

}  // namespace rondo::nccl
