// Member: one rank of a communicator, as a program of the C API holds it. It has rondo's
// communicator, which may still be in the making, and all that the C API needs beside it.
//
// Threads: one at a time, as NCCL asks for, but poll() and abort() may come from any. Each user of
// a member shares its ownership. So one that another thread aborts stays in memory until all have
// left it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/fork.h"
#include "core/communicator/state.h"
#include "core/dispatch/rank_calls.h"
#include "core/nccl/background.h"
#include "core/nccl/operators.h"
#include "core/nccl/registrations.h"
#include "core/nccl/settings.h"

namespace rondo::nccl {

class Member : public std::enable_shared_from_this<Member> {
 public:
  explicit Member(Traits traits)
      : traits_(std::move(traits)),
        streamed_(std::make_shared<dispatch::RankCalls>(traits_.context, traits_.blocking)) {}
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  const Traits& traits() const { return traits_; }

  /// Wraps collective work on this communicator. The result runs it once, after all work that was
  /// wrapped before, on any thread. All ranks do such work in one order, because it shares one
  /// control channel.
  Maker in_turn(Maker maker) { return background_.in_turn(std::move(maker)); }
  /// Makes the communicator on this thread. Throws what `maker` throws.
  void make(const Maker& maker);
  /// The same on a thread of its own; poll() says when it is done. Throws Error{system} if there is
  /// no thread left. Then nothing has begun.
  void make_in_background(Maker maker);

  /// Runs work on the finished communicator, on a thread of its own. poll() says when it is done,
  /// or throws what it threw. Throws as make_in_background() does.
  void work_in_background(Maker work) { background_.start(shared_from_this(), std::move(work)); }

  /// The communicator, made and with nothing under way. Throws Error{invalid_argument} while
  /// something is, Error{invalid_usage} when it was revoked or finalized, and the error that it
  /// could not be made with.
  detail::CommunicatorState& state();
  /// The same for making others from it, which a revoked or failed one can do.
  detail::CommunicatorState& parent();
  /// The communicator once it is made, for work to hold on to.
  const State& share() const { return state_; }
  bool is_revoked() const { return revoked_.load(std::memory_order_acquire); }
  /// No further call can be made: it was revoked or finalized. For the thread that makes calls.
  bool is_over() const { return is_revoked() || finalized_; }

  /// True when nothing is under way. Throws the error that the communicator or work on it failed
  /// with. Any thread.
  bool poll();
  /// Leaves work under way: poll() asks after it.
  void keep(Pending pending) { background_.keep(std::move(pending)); }

  /// Ends everything under way, here and on the other ranks. Waits only for peers' streams that
  /// read windows of this rank, for 5 seconds at most. A communicator that is still being made,
  /// with ranks that may never come, ends by itself when it is made or fails. Any thread.
  void abort();
  void revoke();
  /// As CommunicatorState::set_timeout(), once it is made. Any thread.
  void set_timeout(std::chrono::milliseconds timeout) { made().set_timeout(timeout); }
  /// Ends everything under way and waits for its end, so that others can be made from it.
  void stop();
  /// No call can be made from here on. Returns when those before are complete and the other ranks
  /// know that this one leaves in order. A non-blocking communicator returns at once, and poll()
  /// says when that is so, or throws why not.
  void finalize();
  /// To be called before it is given up. Finalizes it if it is neither revoked nor broken. Throws
  /// what that throws, and a disagreement of ranks that no call has reported.
  void close();
  /// Closes the caller's, and returns when its threads have let go of the communicator. Then the
  /// other ranks know that this one has left in order, and the process may end at once. Waits at
  /// most a quarter of a second if graphs may hold it or it has failed. Otherwise it waits up to 3
  /// seconds, because its threads need only a processor.
  static void give_up(std::shared_ptr<Member> member);
  /// True in a process that was forked from its own. There it is never destroyed, because its end
  /// would wait for threads that are not there, and talk to the parent's peers.
  static bool is_left_to_parent(std::shared_ptr<Member>& member);

  /// Its calls in the order of streams.
  dispatch::RankCalls& streamed() const { return *streamed_; }
  /// Those between devices, once it is made; null where they cannot be. For the thread that makes
  /// calls.
  direct_device::DeviceCalls* device_calls() const {
    const bool ready = phase_.load(std::memory_order_acquire) == Phase::ready;
    return ready ? streamed_->between_devices() : nullptr;
  }

  Operators& operators() { return operators_; }
  Registrations& registrations() { return registrations_; }

 private:
  enum class Phase { making, ready, failed };

  void leave_in_order();
  void leave_windows();
  /// The rest of give_up().
  static void let_go(std::shared_ptr<Member> member);
  bool may_be_kept() const;
  detail::CommunicatorState& made();
  /// Once made: throws the failure of streams, of the communicator or of what was under way.
  void rethrow_failure();

  const Traits traits_;  ///< its context goes last
  const MakerProcess maker_;
  /// Release when `state_` or `error_` is written, acquire before they are read. seq_cst with
  /// `aborted_`: the thread that makes it and the thread that aborts each store one and load the
  /// other, so one of them sees both.
  std::atomic<Phase> phase_{Phase::making};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> revoked_{false};  ///< release and acquire: what was aborted stays so
  bool finalized_ = false;            ///< of the thread that makes calls
  State state_{};
  std::optional<Error> error_{};  ///< why it could not be made
  Background background_{};
  /// Prepared before `phase_` says that it is ready.
  const std::shared_ptr<dispatch::RankCalls> streamed_;
  Operators operators_{};
  Registrations registrations_{};
  std::thread making_{};
};

}  // namespace rondo::nccl
