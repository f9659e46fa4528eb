// Worker: the thread that runs a communicator's batches when their stream has reached them.
//
// - A stream announces a batch by a host function (arrive()). Batches come in the order in which
//   they are to run, because the streams of a communicator's calls wait for each other by events.
// - From then on the worker looks at the lanes' flags until every slice is done.
// - After a failure it only answers the flags, so that no stream waits for ever. rethrow_failure()
//   says why.
// - If the streams' context is gone, or its kernels crashed, no flag ever comes. The worker asks
//   for that while it waits for long. Then it lets go of what it has (`lost`).
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/stream/request.h"
#include "core/stream/watch.h"

namespace rondo::stream {

class Worker : public std::enable_shared_from_this<Worker> {
 public:
  explicit Worker(std::shared_ptr<detail::CommunicatorState> state) : state_(std::move(state)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  detail::CommunicatorState& state() { return *state_; }
  /// Called before start(), with the context of the batches' streams, which is the calling
  /// thread's.
  void watch(cuda::SharedContext context) { watch_.emplace(std::move(context)); }
  /// Starts the thread. `owner`: what the batches' lanes belong to; the thread lets go of it last.
  /// Throws Error{system} where there is none left.
  void start(std::shared_ptr<void> owner);

  /// The batch exists from here on, until it is done, or (captured) forgotten.
  void expect(const std::shared_ptr<Batch>& batch);
  /// It is captured: from here on its graph will forget it.
  void leave_to_graph(Batch& batch);
  /// Its stream has reached it. Calls no function of CUDA and waits for nothing: it is made in a
  /// host function. The batch, and this with it, may be gone when it returns.
  void arrive(Batch& batch) noexcept;
  /// No stream will reach it (any more).
  void forget(Batch& batch) noexcept;
  /// The same for a captured one, when its graph has gone. Calls no function of CUDA. The last of
  /// them goes with a thread, which may call one.
  void forget_captured(Batch& batch) noexcept;

  /// Throws why no call can succeed any more, if so. Looks for loss if a batch is under way. Any
  /// thread.
  void rethrow_failure();
  /// The same, also if the communicator has failed and no batch has noticed yet, because its stream
  /// has not come so far.
  void refuse_after_failure();
  /// What is being handled fails all calls to come. The first failure stays. The other ranks get
  /// `words`.
  void fail(const char* words);
  /// There will be no further batch. The thread ends when the last one is done or forgotten, or
  /// lost.
  void retire();
  /// Whether graphs put the thread's end off.
  bool is_kept();

  /// Is the streams' context known to be gone or broken? Any thread.
  bool is_lost() const { return watch_ && watch_->seen() != cuda::success; }
  /// The same for a thread that has waited for long: asks the driver (see Watch::look()), and fails
  /// what is to come. Any thread.
  bool look_for_loss();

 private:
  void work();
  bool is_over() const;
  void wait_for_batch(std::unique_lock<std::mutex>& lock);
  void run(Batch& batch);
  bool advance(Batch& batch, Item& item);
  void begin(Batch& batch, Item& item);
  void end(Item& item);

  const std::shared_ptr<detail::CommunicatorState> state_;
  std::optional<Watch> watch_{};  ///< set before the thread starts
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<std::shared_ptr<Batch>> arrived_{};  ///< under mutex_
  std::shared_ptr<Batch> forgotten_{};            ///< the newest captured one; under mutex_
  std::size_t expected_ = 0;                      ///< batches that exist; under mutex_
  std::size_t captured_ = 0;                      ///< of them; under mutex_
  bool ended_ = false;                            ///< the thread has; under mutex_
  bool retired_ = false;                          ///< under mutex_
  std::exception_ptr failure_{};                  ///< under mutex_
  std::atomic<bool> failed_{false};               ///< relaxed: only saves taking the mutex
};

}  // namespace rondo::stream
