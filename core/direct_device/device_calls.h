// DeviceCalls: a communicator's collectives and messages between devices of one machine, in the
// order of CUDA streams, without the host's memory or any thread of it.
//
// A call is put into its stream and returns at once, but for room in a queue: a rank keeps
// `queued_entries` there and waits for more by itself, outside the driver, as stream::StreamCalls
// does; a captured call has no queue. Everything in it is finite: copies, kernels,
// and writes of and waits for flags, which do not occupy a device's processors. So ranks may share
// a device and take turns on it. A wait may hold up what stands behind it in its hardware queue,
// though, which streams of a context share when there are more than queues: ranks that are threads
// want one for each stream. It can be captured into graphs and replayed. Buffers are staged in this
// rank's halves, which peers read, or, where they lie in windows (buffers.h), read in place.
//
// Where kernels may wait for each other all the same, small calls are one such kernel
// (core/resident), which needs no windows.
//
// Calls of one communicator follow each other in the order in which they are made, whatever their
// streams are, and those that stream::AllRanks and stream::StreamCalls make for a rank. Threads:
// one at a time, but rethrow_failure(), retire() and withdraw() may come from any.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/direct_device/messages.h"
#include "core/direct_device/running.h"
#include "core/direct_device/watcher.h"
#include "core/stream/order.h"
#include "core/stream/traced.h"

namespace rondo::direct_device {

class DeviceCalls {
 public:
  static constexpr std::size_t queued_entries = 512;

  /// Collective: null on every rank where there is one that cannot take part, see Area::make().
  static std::shared_ptr<DeviceCalls> make(const std::shared_ptr<detail::CommunicatorState>& state,
                                           const cuda::SharedContext& context);
  ~DeviceCalls();
  DeviceCalls(const DeviceCalls&) = delete;
  DeviceCalls& operator=(const DeviceCalls&) = delete;

  /// Whether a call is made between devices: a collective of at least one element, or a message,
  /// whose buffers, as far as this rank has any, are device memory. All of it but the memory is the
  /// same on every rank.
  bool serves(const stream::Request& request) const;
  /// A collective that is made in another way: it has its place among the others. Throws the
  /// failure of an earlier call, or why this one fails the communicator.
  void pass_over(const stream::Request& request);

  /// Begins to put a call that is served into its stream; then advance() until it says false.
  /// Throws the failure of an earlier call; Error{mismatch}; Error{invalid_usage} for a stream of
  /// another context; CudaError, after which no further call succeeds.
  void begin(const stream::Request& request);
  /// The same for a group's messages, in the order of their calls, which go on together; those not
  /// `served` are made in another way.
  void begin(std::vector<stream::Request> messages, const std::vector<bool>& served);
  /// Puts the next piece there, so that calls of several communicators can be put into streams in
  /// turn: a driver's queues have an end, and who fills one waits for all the others.
  bool advance();

  /// Collective: the buffer is a window from here on, see windows.h, whose number it returns; 0: it
  /// is none. Throws what exchanging texts throws.
  std::uint32_t register_window(const void* buffer, std::size_t bytes);
  /// Of this rank alone. Where the communicator has failed: as withdraw().
  void deregister_window(std::uint32_t number);
  /// Before users' memory may go, behind a failure or the last call: nobody begins to read this
  /// rank's windows any more, and returns when no stream of a rank that lives does, or 5 seconds
  /// after the first of these. Behind a failure a replay of a peer's graph may be between two calls
  /// on windows: where such graphs are there it is over when none began for a second. Any thread.
  void withdraw();

  /// Returns when all that was put into streams is complete, or has failed. Throws CudaError.
  void finish();
  /// Behind finish(), before the memory may go: returns when the others have read what this rank
  /// has shown and sent, or will not. Throws Error{timeout} at the deadline.
  void wait_for_readers();
  /// Throws why no call can succeed any more, if so.
  void rethrow_failure() { watcher_->rethrow_failure(); }
  /// Of device memory, which this rank takes.
  std::size_t bytes() const { return watcher_->area().bytes(); }
  /// Tells the others that there will be no further call, so that who waits for one fails.
  void leave() { watcher_->leave(); }
  /// The same. What is under way goes on; so do graphs, whose calls fail.
  void retire() { watcher_->retire(); }
  /// Whether graphs of its calls put the end of its thread off.
  bool is_kept() const { return watcher_->is_kept(); }

  // For calls that are put into streams without this class: see core/stream/all_ranks.h.
  const std::shared_ptr<stream::Order>& order() const { return order_; }
  /// These calls come behind the other ones, too.
  void follow_also(std::shared_ptr<stream::Order> other) { others_.push_back(std::move(other)); }

 private:
  explicit DeviceCalls(std::shared_ptr<Watcher> watcher);
  /// The others count on this rank from here on: what goes wrong is the communicator's failure, and
  /// the memory that they reach is given back as behind any.
  static std::shared_ptr<DeviceCalls> begin_with(const std::shared_ptr<Watcher>& watcher);
  void check_context(const stream::Request& request) const;
  /// Of this rank's windows.
  struct Readers {
    bool busy = false;    ///< a stream reads them, or a graph's has begun to since the last look
    bool graphs = false;  ///< a graph may read them
  };
  Readers find_readers() const;
  Buffers find_buffers(const WindowPlaces& places, std::uint64_t number) const;
  void announce(const std::vector<stream::Request>& messages, const std::vector<bool>& served);
  void note_in_trace(std::span<const stream::Request> requests) {
    traced_ = {};
    for (const stream::Request& request : requests)
      traced_.add(watcher_->state(), request, trace::Way::between_devices, capture_.has_value());
  }
  void forget_reading() const {
    const Area& area = watcher_->area();
    area.page().forget_reading(area.rank());
  }
  /// `number`: of the call that begins, 0 where it is captured.
  void enter(Waiting waiting, std::uint64_t number);
  void keep_with(cuda::Graph graph);
  void give_up(const Error& error) noexcept;
  /// Entries of calls that streams have not completed, as far as is known; the newest one's apart.
  std::size_t entries_of_earlier();
  std::size_t entries_of_newest() const;
  /// The newest one is put, and goes to the earlier ones.
  void note_entries();
  /// Returns when there is room in queues for another piece. Throws the communicator's failure.
  void wait_for_room();
  /// Runs `body` of a call that peers count on: whatever it throws is the communicator's failure.
  template <class Body>
  void guarded(Body body);

  const std::shared_ptr<Watcher> watcher_;
  const cuda::Context context_;
  std::optional<Running> running_{};  ///< at most one of the three
  std::optional<stream::Request> resident_{};
  std::optional<Messages> messages_{};
  std::optional<cuda::Capture> capture_{};  ///< of the running one
  cuda::Stream stream_ = nullptr;           ///< likewise
  std::uint64_t number_ = 0;                ///< likewise; 0: captured, or not in a stream yet
  stream::Traced traced_{};                 ///< likewise
  /// A call whose last piece is in its stream: its number, and how much of it may be left there.
  struct Earlier {
    std::uint64_t number;
    std::size_t entries;
  };
  std::deque<Earlier> earlier_{};       ///< by number
  std::size_t entries_of_earlier_ = 0;  ///< of all of them
  std::uint32_t collective_entries_ =
      0;  ///< that streams were given so far, but for resident calls
  Windows windows_;
  std::mutex withdrawing_{};
  std::optional<std::chrono::steady_clock::time_point> failed_at_{};  ///< under withdrawing_
  bool released_ = false;  ///< behind a failure nobody reads this rank's; under withdrawing_
  int turn_ = 0;           ///< half of the next call's first slice
  MessageState message_state_;
  std::shared_ptr<stream::Order> order_{};
  std::vector<std::shared_ptr<stream::Order>> others_{};  ///< of calls beside these
};

}  // namespace rondo::direct_device
