// DeviceCalls: collectives, messages and one-sided calls of a communicator between the devices of one
// host, in the order of CUDA streams. Neither the host's memory nor a host thread moves data.
//
// - A call is put into its stream and returns at once. Only if the driver's queue is getting full
//   (enqueued_calls.h), it waits outside the driver for room, as stream::StreamCalls does. A captured
//   call uses no queue.
// - A call consists of copies, kernels, and writes of and waits for flags. None of these occupies
//   the device's processors while it waits. So ranks may share a device and take turns on it.
// - A wait can hold up what follows it in the same hardware queue. Streams of a context share
//   queues if there are more streams than queues. So ranks that are threads need a queue for each
//   stream.
// - It can be captured into graphs and replayed, unless it is one-sided.
// - Collectives are one co-resident kernel where that is possible (core/resident). It reads and writes
//   peers' buffers where these lie in windows (resident_call.h).
// - All others are staged in this rank's halves, which peers read (running.h).
// - Calls of one communicator run in the order in which they are made, whatever their streams,
//   including those that stream::AllRanks and stream::StreamCalls make for a rank.
//
// Threads: one at a time, but rethrow_failure(), retire() and withdraw() may come from any.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/base/as_error.h"
#include "core/direct_device/messages.h"
#include "core/direct_device/one_sided.h"
#include "core/direct_device/resident_call.h"
#include "core/direct_device/running.h"
#include "core/direct_device/watcher.h"
#include "core/direct_device/windows.h"
#include "core/stream/order.h"
#include "core/stream/traced.h"

namespace rondo::direct_device {

class DeviceCalls {
 public:
  /// Collective. Null on every rank if any rank cannot take part: see StagingHeap::make().
  static std::shared_ptr<DeviceCalls> make(const std::shared_ptr<detail::CommunicatorState>& state,
                                           const cuda::SharedContext& context);
  ~DeviceCalls();
  DeviceCalls(const DeviceCalls&) = delete;
  DeviceCalls& operator=(const DeviceCalls&) = delete;

  /// Is a call made between devices? Yes for a collective of at least one element, and for a
  /// message, if this rank's buffers are all device memory. Where this rank has no elements, it is
  /// enough that its buffers are not host memory. All else is the same on every rank. No for an
  /// algorithm that the user names and no kernel can follow. Throws Error{configuration} where what is
  /// named leaves none.
  bool serves(const stream::Request& request) const;
  /// Is it not served for that name alone?
  bool leaves_for_name(const stream::Request& request) const;
  /// A collective that takes another path. It keeps its place in the order of calls. Throws the
  /// failure of an earlier call, or the reason why this one fails the communicator.
  void pass_over(const stream::Request& request);

  /// Begins to put a call that is served into its stream. Then call advance() until it returns
  /// false. Throws the failure of an earlier call, Error{mismatch}, Error{invalid_usage} for a
  /// stream of another context, or CudaError, after which no further call succeeds.
  void begin(const stream::Request& request);
  /// The same for a group's messages, in the order of their calls. They go on together. Those not
  /// `served` take another path.
  void begin(std::vector<stream::Request> messages, const std::vector<bool>& served);
  /// Puts the next piece there. So calls of several communicators can be put into streams in turn.
  /// The driver's queues are finite, and a thread that fills one waits for all the others.
  bool advance();

  /// One-sided calls (one_sided.h), each put into its stream whole. Peers and signals exist. They
  /// throw what begin() throws, Error{invalid_argument} for what is not in a window, and
  /// Error{invalid_usage} for a stream that is captured.
  void put(const Put& put, cuda::Stream stream);
  void await(std::vector<SignalWait> waits, cuda::Stream stream);
  /// Throws the same where the put's bytes are not in a window.
  void check(const Put& put) const;

  /// Collective. Makes the buffer a window (windows.h) and returns its number; 0: it is not one.
  /// Throws what exchanging texts throws.
  std::uint32_t register_window(const void* buffer, std::size_t bytes);
  /// Not collective. After a failure of the communicator it waits like withdraw().
  void deregister_window(std::uint32_t number);
  /// To be called before users' memory may go, after a failure or the last call. From here on no
  /// rank begins to use this rank's windows. Returns when no stream of a living rank uses them,
  /// but at most 5 seconds after the first such call. After a failure, a replay of a peer's graph
  /// may be between two calls on windows. It counts as over when none began for a second. Any
  /// thread.
  void withdraw();

  /// Returns when all that was put into streams is complete, or has failed. Throws CudaError.
  void finish() { orders_->finish(); }
  /// To be called after finish(), before the memory may go. Returns when the others have read what
  /// this rank has shown and sent, or will not read it any more. Throws Error{timeout}.
  void wait_for_readers();
  /// Throws why no call can succeed any more, if so.
  void rethrow_failure() { watcher_->rethrow_failure(); }
  /// Whether all ranks have kernels for reductions.
  bool reduces() const { return watcher_->heap().reduces(); }
  /// Device memory that this rank takes.
  std::size_t bytes() const { return watcher_->heap().bytes(); }
  /// Tells the others that this rank makes no further call, so that a rank that waits for one
  /// fails.
  void leave() { watcher_->leave(); }
  /// The same. What is under way goes on; so do graphs, whose calls fail.
  void retire() { watcher_->retire(); }
  /// Do graphs of its calls keep its thread alive?
  bool is_kept() const { return watcher_->is_kept(); }

  /// For calls that are put into streams without this class: see core/stream/all_ranks.h.
  stream::Orders& orders() { return *orders_; }
  const stream::Orders& orders() const { return *orders_; }

 private:
  explicit DeviceCalls(std::shared_ptr<Watcher> watcher);
  /// From here on the others rely on this rank. So an error is a failure of the communicator, and
  /// the memory that they reach is given back as after any failure.
  static std::shared_ptr<DeviceCalls> begin_with(const std::shared_ptr<Watcher>& watcher);
  /// Peers that use this rank's windows.
  struct Readers {
    bool busy = false;    ///< a stream reads them, or a graph has begun to since the last look
    bool graphs = false;  ///< a graph may read them
  };
  Readers find_readers() const;
  bool can_serve(const stream::Request& request) const;
  bool follows(const stream::Request& request) const;
  bool allows_default(const stream::Request& request) const;
  WindowPlaces find_places(const stream::Request& request) const;
  void claim_windows(std::uint64_t number, std::optional<int> only = {}) const;
  void announce(const std::vector<stream::Request>& messages, const std::vector<bool>& served);
  void note_in_trace(std::span<const stream::Request> requests);
  /// `number`: of the call that begins, 0 where it is captured.
  void enter(Waiting waiting, std::uint64_t number);
  void keep_with(cuda::Graph graph);
  void give_up(const Error& error) noexcept;
  /// Returns when there is room in queues for another piece. Throws the communicator's failure.
  void wait_for_room();
  void begin_one_sided(cuda::Stream stream);
  Waiting waiting_for_signals(std::vector<SignalWait> waits);
  std::uint64_t enter_one_sided(Waiting waiting, Signals& signals);
  void end_one_sided(std::uint64_t number, Signals& signals);
  /// Runs `body` of a call that peers count on: whatever it throws is the communicator's failure.
  template <class Body>
  void guarded(Body body) {
    try {
      body();
    } catch (const std::exception& error) {
      give_up(as_error(error));
      throw;
    }
  }

  const std::shared_ptr<Watcher> watcher_;
  const cuda::Context context_;
  /// The call that is being put into its stream.
  struct Current {
    std::optional<Running> collective{};  ///< at most one of the three
    std::optional<ResidentCall> resident{};
    std::optional<Messages> messages{};
    std::optional<cuda::Capture> capture{};
    cuda::Stream stream = nullptr;
    std::uint64_t number = 0;  ///< 0: captured, or not in a stream yet
    stream::Traced traced{};

    /// None yet, for this stream. Throws CudaError.
    void begin(cuda::Stream of);
    void end();
    bool is_there() const { return collective || resident || messages; }
    /// In the queue, as far as is known.
    std::size_t entries_left() const;
  } current_{};
  QueuedCalls queued_{};
  std::uint32_t collective_entries_ = 0;  ///< in streams so far, but for resident calls
  Planner planner_;
  Windows windows_;
  struct Withdrawal {
    std::mutex mutex{};
    std::optional<std::chrono::steady_clock::time_point> failed_at{};  ///< under mutex
    bool released = false;  ///< no peer reads this rank's after a failure; under mutex
  } withdrawal_{};
  SignalCounts counts_;
  int turn_ = 0;  ///< half of the next call's first slice
  std::optional<MessageState> message_state_{};
  std::optional<stream::Orders> orders_{};
};

}  // namespace rondo::direct_device
