// StreamCalls: calls of a communicator in the order of CUDA streams, through the host's memory.
//
// A call is put into its stream and returns at once. It begins when the stream has done what was
// put there before. What is put there later begins when the call is complete. Device buffers go
// through pinned host memory, slice by slice (slices.h, lane.h). A thread of the communicator makes
// the calls (worker.h). No host function of CUDA ever waits, so ranks of one process cannot starve
// each other. All of it can be captured into graphs and replayed.
//
// Calls of one communicator run in the order in which they are made, whatever their streams: each
// stream waits for the call before by an event. Calls on another path are included (follow_also()).
//
// A driver's queue has room for about a thousand entries. A full one makes its caller wait, perhaps
// with a lock that other threads need. So all calls of a rank together have `queued_entries` there
// at most, and the next call waits outside the driver for room. A captured call uses no queue. A
// thread that makes calls of several communicators puts them there slice by slice in turn
// (core/dispatch/dispatch.cc).
//
// Pinned memory:
// - for collectives, 4 slots of 1 MiB
// - for messages, 4 slots of 256 KiB for each peer and direction that a group has at once
//
// Slots of messages are there for `usual_lanes` such directions from the start. Others are made
// when first needed, also by a call that is captured. A rank's messages to itself within device
// memory are copies in the stream (own_messages.h).
//
// Threads: one at a time, but rethrow_failure() and retire() may come from any.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/stream/order.h"
#include "core/stream/side_streams.h"
#include "core/stream/traced.h"
#include "core/stream/worker.h"

namespace rondo::stream {

class StreamCalls {
 public:
  static constexpr std::size_t queued_entries = 512;

  /// For streams of `context`, which need not be current in the calling thread. Takes memory, which
  /// may wait for the device. So a thread that captures a stream must not call it.
  static std::shared_ptr<StreamCalls> make(std::shared_ptr<detail::CommunicatorState> state,
                                           cuda::SharedContext context);
  ~StreamCalls();
  StreamCalls(const StreamCalls&) = delete;
  StreamCalls& operator=(const StreamCalls&) = delete;

  /// Puts requests into their streams, to run together. Arguments were checked before. Returns at
  /// once, unless it must wait for room in a queue. Throws the failure of an earlier call,
  /// Error{invalid_usage} for a stream of another context, or CudaError, after which no further
  /// call succeeds.
  void enqueue(std::vector<Request> requests);
  /// Returns when all that was put into streams is complete, or has failed. Throws CudaError.
  void finish() { orders_->finish(); }

  /// enqueue() in parts. After one of them throws, the others are not called.
  ///   prepare  takes the memory that is needed
  ///   begin    puts in what waits for nothing
  ///   go_on    puts in one slice of each kind; false when there was none
  ///   end      puts in the rest
  void prepare(const std::vector<Request>& requests);
  void begin(std::vector<Request> requests);
  bool go_on();
  void end();

  /// Throws why no call can succeed any more, if so.
  void rethrow_failure() { worker_->rethrow_failure(); }
  /// The same, also for a failure of the communicator that no call here has met yet.
  void refuse_after_failure() { worker_->refuse_after_failure(); }
  /// The exception that is being handled fails all later calls, here and on the other ranks.
  void fail(const char* words) { worker_->fail(words); }
  /// There will be no further call. What is under way goes on; so do graphs, whose calls fail.
  void retire() { worker_->retire(); }
  /// Do graphs of its calls keep its thread alive?
  bool is_kept() const { return worker_->is_kept(); }

  // For calls that are put into streams without this class: see all_ranks.h.
  const cuda::SharedContext& context() const { return context_; }
  int device() const { return device_; }
  detail::CommunicatorState& state() const { return worker_->state(); }
  Orders& orders() { return *orders_; }
  /// For join(): of this context.
  cuda::Event scratch() const { return scratch_.get(); }
  /// This exists as long as the graph does.
  void keep_with(cuda::Graph graph);

 private:
  StreamCalls(std::shared_ptr<detail::CommunicatorState> state, cuda::SharedContext context);
  void add_lanes(std::size_t messages);
  Kind& kind_of(Batch& batch, const Request& request) const;
  std::shared_ptr<Batch> make_batch(std::vector<Request> requests) const;
  static void keep_with(const std::shared_ptr<Batch>& batch, cuda::Graph graph);

  template <class Body>
  void put(Body&& body);
  void give_up(Batch& batch, const char* words);
  void close_off(Batch& batch);
  void enter_first(Batch& batch);
  std::size_t entries_of_earlier();
  template <class IsFull>
  void wait_while(const IsFull& is_full);
  void wait_for_earlier();
  void wait_for_room(const Batch& batch, const Kind& kind);
  /// Makes `stream` wait for what is in `other`.
  void join(cuda::Stream stream, cuda::Stream other) {
    stream::join(stream, other, scratch_.get());
  }
  void abandon();

  const cuda::SharedContext context_;  ///< goes last
  int device_ = 0;                     ///< the context's
  const std::shared_ptr<Worker> worker_;
  std::unique_ptr<Lane> collective_lane_{};
  std::vector<std::unique_ptr<Lane>> message_lanes_{};
  std::optional<SideStreams> sides_{};
  std::optional<Orders> orders_{};
  cuda::OwnedEvent scratch_{};                    ///< of join()
  std::shared_ptr<Batch> putting_{};              ///< between begin() and end(), as `traced_`
  std::deque<std::shared_ptr<Batch>> earlier_{};  ///< put before, of which streams may have a part
  Traced traced_{};
};

}  // namespace rondo::stream
