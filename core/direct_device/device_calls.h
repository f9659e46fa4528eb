// DeviceCalls: a communicator's collectives and messages between devices of one machine, in the
// order of CUDA streams, without the host's memory or any thread of it.
//
// A call is put into its stream and returns at once. Everything in it is finite: copies, kernels,
// and writes of and waits for flags, which do not occupy a device. So it matters neither whether
// ranks are threads or processes, nor whether they share a device and take turns on it. It can be
// captured into graphs and replayed.
//
// Calls of one communicator follow each other in the order in which they are made, whatever their
// streams are, and those that stream::AllRanks and stream::StreamCalls make for a rank. Threads:
// one at a time, but rethrow_failure() and retire() may come from any.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/direct_device/messages.h"
#include "core/direct_device/running.h"
#include "core/direct_device/watcher.h"
#include "core/stream/order.h"

namespace rondo::direct_device {

class DeviceCalls {
 public:
  /// Collective: null on every rank where there is one that cannot take part, see Area::make().
  static std::shared_ptr<DeviceCalls> make(const std::shared_ptr<detail::CommunicatorState>& state,
                                           cuda::Context context);
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

  /// Returns when all that was put into streams is complete, or has failed. Throws CudaError.
  void finish();
  /// Behind finish(), before the memory may go: returns when the others have read what this rank
  /// has shown and sent, or will not. Throws Error{timeout} after RONDO_TIMEOUT.
  void wait_for_readers() const;
  /// Throws why no call can succeed any more, if so.
  void rethrow_failure() { watcher_->rethrow_failure(); }
  /// Of device memory, which this rank takes.
  std::size_t bytes() const { return watcher_->area().bytes(); }
  /// There will be no further call. What is under way goes on; so do graphs, whose calls fail.
  void retire() { watcher_->retire(); }

  // For calls that are put into streams without this class: see core/stream/all_ranks.h.
  const std::shared_ptr<stream::Order>& order() const { return order_; }
  /// These calls come behind the other ones, too.
  void follow_also(std::shared_ptr<stream::Order> other) { others_.push_back(std::move(other)); }

 private:
  explicit DeviceCalls(std::shared_ptr<Watcher> watcher);
  void check_context(const stream::Request& request) const;
  void announce(const std::vector<stream::Request>& messages, const std::vector<bool>& served);
  void enter(cuda::Stream stream, Waiting waiting);
  void keep_with(cuda::Graph graph);
  void give_up(const Error& error) noexcept;
  /// Runs `body`, whose failure is the communicator's.
  template <class Body>
  void guarded(Body body);

  const std::shared_ptr<Watcher> watcher_;
  const cuda::Context context_;
  std::optional<Running> running_{};  ///< at most one of the two
  std::optional<Messages> messages_{};
  std::optional<cuda::Capture> capture_{};  ///< of the running one
  int turn_ = 0;                            ///< half of the next call's first slice
  MessageState message_state_;
  std::shared_ptr<stream::Order> order_{};
  std::vector<std::shared_ptr<stream::Order>> others_{};  ///< of calls beside these
};

}  // namespace rondo::direct_device
