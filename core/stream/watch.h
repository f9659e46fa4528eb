// Watch: does a CUDA context still work? One that was destroyed, or whose kernel crashed, does
// nothing any more. Then flags that its streams were to write never come.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "core/cuda/contexts.h"
#include "core/cuda/handles.h"

namespace rondo::stream {

/// Any thread, also several at once.
class Watch {
 public:
  /// Watches `context`, which is the calling thread's.
  explicit Watch(cuda::SharedContext context);

  /// What the driver says to calls in the context as far as is known: cuda::success while it works.
  /// Returns at once. The driver is asked at most once a second, by a thread of its own: it may
  /// keep callers waiting while one of its queues is full, which the caller may have to empty.
  int look();
  /// What to throw on that rank where it is anything else.
  static cuda::CudaError loss(int status, int rank);
  /// The same as look(), without asking.
  int seen() const;

 private:
  struct Question;
  std::shared_ptr<Question> question_;  ///< shared with the thread that asks
};

}  // namespace rondo::stream
