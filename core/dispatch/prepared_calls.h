// PreparedCalls: RankCalls that a thread of its own prepares. All ranks take part in that, and one
// thread may make those of several ranks, one after the other.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "core/dispatch/rank_calls.h"
#include "rondo/error.h"

namespace rondo::dispatch {

/// For the thread that makes calls, but for check(), which any thread may call.
class PreparedCalls {
 public:
  /// Begins. Collective. `context` is current in this thread. Throws cuda::CudaError, and
  /// Error{system} where there is no thread left.
  PreparedCalls(State state, cuda::SharedContext context);
  /// Where devices reach each other, it returns when all calls are complete and the other ranks
  /// have read what this one shows. Otherwise calls go on. After a failure it waits 5 seconds at
  /// most. An exception that destroys it aborts the communicator first.
  ~PreparedCalls();
  PreparedCalls(const PreparedCalls&) = delete;
  PreparedCalls& operator=(const PreparedCalls&) = delete;

  detail::CommunicatorState& state() const { return *calls_->state(); }
  const cuda::SharedContext& context() const { return context_; }
  int device() const { return device_; }

  /// Waits until they are prepared. Throws why they could not be, and Error{invalid_usage} after leave()
  /// and in a child by fork().
  RankCalls& get();
  /// Throws the error after which no call can succeed, if there is one. Waits for nothing.
  void check();
  /// There will be no further call. Returns when all are complete, and the other ranks have read
  /// what this one shows.
  void finish_in_order();
  /// After that, and after the communicator is finalized.
  void leave();
  bool has_left() const { return has_left_; }

 private:
  void prepare();
  void close();

  const MakerProcess maker_{};
  const int exceptions_;  ///< that were under way when it was made
  const cuda::SharedContext context_;
  const int device_;
  std::shared_ptr<RankCalls> calls_;
  /// Release when the calls or `error_` are there, acquire before they are used.
  std::atomic<bool> done_{false};
  std::optional<Error> error_{};
  bool has_left_ = false;
  std::thread preparing_{};
};

}  // namespace rondo::dispatch
