// Order: calls in streams follow each other, whatever their streams are, within captures too, and
// between the replays of graphs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/cuda/handles.h"

namespace rondo::stream {

/// Thread-safe. Throws cuda::CudaError.
class Order {
 public:
  /// Events of the current context.
  Order() : last_(cuda::make_event()), captured_last_(cuda::make_event()) {}

  /// Makes `stream` wait for the newest call, or newest replay of one, unless that is in the same stream;
  /// while it is captured, with every replay. Streams of any context.
  void follow(cuda::Stream stream, const std::optional<cuda::Capture>& capture);
  /// What is in `stream`, of the events' context, is the newest call from here on.
  void record(cuda::Stream stream, const std::optional<cuda::Capture>& capture);
  /// Returns when the newest call is complete.
  void finish();
  /// Forgets the events: their context is gone, and they with it.
  void abandon();
  /// Whether anything was ever recorded. Relaxed: a thread that must know has recorded it itself.
  bool used() const { return used_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_{};
  cuda::OwnedEvent last_;               ///< after the newest call, or newest replay of one
  cuda::OwnedEvent captured_last_;      ///< the same within the capture `captured_in_`
  unsigned long long captured_in_ = 0;  ///< under mutex_
  /// The stream that has the newest call, and what cuda::number_of() says of it, as handles are used again.
  /// Number 0: unknown, or a replay may be newer. Under mutex_.
  cuda::Stream newest_in_ = nullptr;
  std::uint64_t newest_number_ = 0;
  std::atomic<bool> used_{false};
};

/// The order of calls on one path, which also follow the newest calls on others. One thread at a
/// time.
class Orders {
 public:
  /// For `context`, which is current.
  explicit Orders(cuda::Context context) : context_(context), own_(std::make_shared<Order>()) {}

  const std::shared_ptr<Order>& own() const { return own_; }
  void follow_also(std::shared_ptr<Order> other) { others_.push_back(std::move(other)); }
  void follow(cuda::Stream stream, const std::optional<cuda::Capture>& capture);
  void record(cuda::Stream stream, const std::optional<cuda::Capture>& capture) {
    own_->record(stream, capture);
  }
  /// Order::finish() in whatever context and capture.
  void finish() const;
  /// Lets go of the events, with the context current; or, where it is gone, of nothing.
  void close();
  void abandon();

 private:
  cuda::Context context_;
  std::shared_ptr<Order> own_;
  std::vector<std::shared_ptr<Order>> others_{};
};

/// Makes `stream` wait for what is in `other`, by `event` of the other one's context.
void join(cuda::Stream stream, cuda::Stream other, cuda::Event event);

}  // namespace rondo::stream
