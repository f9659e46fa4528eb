// Order: calls in streams follow each other, whatever their streams are, within captures too, and
// between the replays of graphs.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "core/cuda/handles.h"

namespace rondo::stream {

/// Thread-safe. Throws cuda::CudaError.
class Order {
 public:
  /// Events of the current context.
  Order() : last_(cuda::make_event()), captured_last_(cuda::make_event()) {}

  /// Makes `stream` wait for the newest call, or newest replay of one; while it is captured, with
  /// every replay. Streams of any context.
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
  std::atomic<bool> used_{false};
};

/// Makes `stream` wait for what is in `other`, by `event` of the other one's context.
void join(cuda::Stream stream, cuda::Stream other, cuda::Event event);

}  // namespace rondo::stream
