// StreamCalls: a communicator's calls in the order of CUDA streams.
//
// A call is put into its stream and returns at once. It begins when the stream has done what was
// put into it before, and what is put there later begins when the call is complete. Device buffers
// go through pinned host memory, slice by slice (slices.h, lane.h), and a thread of the
// communicator's own makes the calls (worker.h): no host function ever waits, so ranks of one
// process cannot starve each other. All of it can be captured into graphs and replayed.
//
// Calls of one communicator follow each other in the order in which they are made, whatever their
// streams are: each stream waits for the call before by an event.
//
// Pinned memory: 4 slots of 1 MiB, and for each message of the largest group 4 of 256 KiB.
// Threads: one at a time, but rethrow_failure() and retire() may come from any.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/stream/worker.h"

namespace rondo::stream {

class StreamCalls {
 public:
  /// For streams of `context`, which the calling thread need not have made its own.
  static std::shared_ptr<StreamCalls> make(std::shared_ptr<detail::CommunicatorState> state,
                                           cuda::Context context);
  ~StreamCalls();
  StreamCalls(const StreamCalls&) = delete;
  StreamCalls& operator=(const StreamCalls&) = delete;

  /// Takes what enqueue() needs for these requests. Who puts calls of several communicators into
  /// streams does this for all of them first: taking memory may wait for a device, and a device
  /// for a call that this very thread has yet to make.
  void prepare(const std::vector<Request>& requests);
  /// Puts them into their streams, to run together; arguments were checked before. Returns at once.
  /// Throws the failure of an earlier call; CudaError, after which no further call succeeds;
  /// Error{invalid_usage} for a stream of another context.
  void enqueue(std::vector<Request> requests);
  /// Returns when all that was put into streams is complete, or has failed. Throws CudaError.
  void finish();

  /// Throws why no call can succeed any more, if so.
  void rethrow_failure() { worker_->rethrow_failure(); }
  /// There will be no further call. What is under way goes on; so do graphs, whose calls fail.
  void retire() { worker_->retire(); }

 private:
  using Lanes = std::vector<std::unique_ptr<Lane>>;

  StreamCalls(std::shared_ptr<detail::CommunicatorState> state, cuda::Context context);
  void check_context(const Request& request) const;
  void check_messages_to_self(const std::vector<Request>& requests) const;
  std::shared_ptr<Batch> make_batch(std::vector<Request> requests);
  static void keep_with(const std::shared_ptr<Batch>& batch, cuda::Graph graph);

  void give_up(Batch& batch, const char* words);
  void put(Batch& batch, const std::optional<cuda::Capture>& capture);
  void follow_last(cuda::Stream stream, const std::optional<cuda::Capture>& capture);
  void record_last(cuda::Stream stream, const std::optional<cuda::Capture>& capture);
  /// Makes `stream` wait for what is in `other`.
  void join(cuda::Stream stream, cuda::Stream other);
  void put_items(Batch& batch, cuda::Stream stream);

  const cuda::Context context_;
  const std::shared_ptr<Worker> worker_;
  Lanes collective_lanes_{};
  Lanes message_lanes_{};
  cuda::OwnedEvent last_{};           ///< behind the newest call, or newest replay of one
  cuda::OwnedEvent captured_last_{};  ///< the same within the capture `captured_in_`
  cuda::OwnedEvent scratch_{};        ///< of join()
  unsigned long long captured_in_ = 0;
  bool used_ = false;  ///< anything was put into a stream
};

}  // namespace rondo::stream
