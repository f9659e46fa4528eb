// Watcher: the thread that watches a communicator's calls between devices. It moves no data:
// streams and their kernels write and wait for the flags by themselves.
//
// - It sleeps while no stream holds a call. Otherwise it looks every few milliseconds.
// - If nothing moves in a call for a second, it reports that to the control plane. This compares
//   what the ranks do. It fails the communicator if they disagree, if one is dead, or after
//   RONDO_TIMEOUT.
// - If nothing moves in a call, it asks whether the CUDA context works still (core/stream/watch.h).
// - After a failure it answers every flag that a stream of this rank may wait for, so that all
//   streams and graphs end. It also ends kernels that wait for other ranks. What they then read is
//   worthless.
//
// Any thread may call any method.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/communicator/silence.h"
#include "core/direct_device/enqueued_calls.h"
#include "core/direct_device/staging_heap.h"
#include "core/resident/executor.h"
#include "core/stream/watch.h"

namespace rondo::direct_device {

inline constexpr std::chrono::milliseconds shortest_nap{1};
inline constexpr std::chrono::milliseconds longest_nap{20};
/// How long a watcher sleeps before it looks again: longer each time nothing happens, up to 20 ms.
/// `moved`: a call has ended. `frees`: each look lets a stream go on by a slice or two of a call
/// that may have thousands.
inline std::chrono::milliseconds next_nap(std::chrono::milliseconds last, bool moved, bool frees) {
  return moved || frees ? shortest_nap : std::min(2 * last, longest_nap);
}

class Watcher : public std::enable_shared_from_this<Watcher> {
 public:
  /// `executor`: whose kernels end with the communicator; null: there are none.
  Watcher(std::shared_ptr<detail::CommunicatorState> state, std::shared_ptr<ControlChannel> control,
          std::unique_ptr<StagingHeap> heap, std::shared_ptr<resident::Executor> executor);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  const StagingHeap& heap() const { return *heap_; }
  /// Null: there are no co-resident kernels.
  resident::Executor* executor() const { return executor_.get(); }
  detail::CommunicatorState& state() const { return *state_; }
  /// Starts the thread. `owner`: what the calls' events belong to; it is let go before the heap.
  /// Throws Error{system} where there is no thread left, CudaError where the heap's context is broken.
  void start(std::shared_ptr<void> owner);
  /// In place of start(), after fail(): there will be no call. If there is no thread left, it waits
  /// for the readers itself, for 5 seconds at most.
  void end_unused();

  /// Announces the communicator's next collective, and returns its number. Compares it with those
  /// of ranks that are there already. `on_device`: it is between devices here. If it is not
  /// elsewhere, or anything else of it differs, such as the places in windows, the communicator
  /// fails and the result is 0.
  std::uint64_t announce(const Call& call, bool on_device, const WindowPlaces& places = {});
  /// Announces the next message of its direction with `peer`. Compares it with the peer's, where
  /// that one is there already. If they differ, the communicator fails and the result is false.
  bool announce(const Call& message, int peer, bool sends, bool on_device);
  /// The number of what will be put into a stream next.
  std::uint64_t next() const;
  /// That is about to happen. The stream, or a kernel in it, will write when it has begun and completed
  /// it.
  void expect(Waiting waiting);
  /// What was put into streams for `number` will not come to its end: the driver refuses
  /// everything. Null: nothing so far will.
  void abandon(std::optional<std::uint64_t> number);
  /// The driver has refused a part of a call. What is in streams may go on when all calls count as
  /// complete.
  void disorder();
  /// A captured call: it may run until forget(). `uses_windows`: of other ranks.
  void retain(bool uses_windows);
  /// Calls no function of CUDA, nor does what it lets go of: `self` goes with the thread.
  static void forget(std::shared_ptr<Watcher> self, bool uses_windows) noexcept;
  /// Whether captured calls put the thread's end off.
  bool is_kept() const;

  /// Throws why no call can succeed any more, if so.
  void rethrow_failure();
  bool has_failed() const { return failure().has_value(); }
  /// All calls to come fail with this, or with the exception that is being handled. The first
  /// failure stays. The other ranks are notified.
  void fail(const Error& error);
  /// Tells the others that this rank makes no further call, unless something has failed.
  void leave();
  /// The same. The thread ends with what is under way and the last graph.
  void retire();

 private:
  std::optional<Error> failure() const;
  bool is_over() const;
  bool is_idle() const;
  void work();
  void look();
  bool note_progress();
  void look_for_loss();
  bool is_inside() const;
  void report_stall();
  void report(bool expired);
  void answer() const;
  void tell_wait();
  void spread(const Error& failure);
  void give_memory_back(std::shared_ptr<void> owner);
  /// No stream of this rank needs the heap any more.
  bool is_done_with() const;

  std::shared_ptr<detail::CommunicatorState> state_;  ///< until the thread ends
  std::shared_ptr<ControlChannel> control_;
  std::unique_ptr<StagingHeap> heap_;
  std::shared_ptr<resident::Executor> executor_;
  mutable std::mutex mutex_{};
  std::condition_variable changed_{};
  /// Numbers of the newest ones that were announced.
  struct Announcements {
    std::uint64_t collectives = 0;
    std::vector<std::uint64_t> sends{};  ///< by peer
    std::vector<std::uint64_t> receives{};
  } announced_;                           ///< under mutex_
  EnqueuedCalls enqueued_{};              ///< under mutex_
  std::size_t graphs_ = 0;                ///< captured calls; under mutex_
  std::shared_ptr<Watcher> forgotten_{};  ///< this, of the newest one that is gone; under mutex_
  bool retired_ = false;                  ///< under mutex_
  struct Failing {
    std::optional<Error> error{};
    std::exception_ptr thrown{};  ///< the same where it was thrown here
    bool disputed = false;        ///< a verdict of the control plane is to come
    bool spread = false;          ///< the whole communicator has failed
  } failing_{};                   ///< under mutex_

  // The thread's own.
  std::optional<stream::Watch> watch_{};  ///< set before the thread starts
  bool lost_ = false;                     ///< the context works no more
  detail::Silence silence_{};
  std::chrono::milliseconds nap_{1};
  std::optional<std::chrono::steady_clock::time_point> failed_at_{};
  bool told_wait_ = false;
};

}  // namespace rondo::direct_device
