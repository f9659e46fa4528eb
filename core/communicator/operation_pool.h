// OperationPool: the operations of a communicator, and memory for calls, used again when they are done.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/execute/operation.h"
#include "rondo/memory.h"

namespace rondo::detail {

/// Under the progress lock.
class OperationPool {
 public:
  /// Of a blocking call, from its start to its end.
  Operation& blocking() { return blocking_; }
  /// One that is done, and that nobody refers to.
  std::shared_ptr<Operation> take() {
    for (std::size_t tried = 0; tried < operations_.size(); ++tried) {
      next_ = next_ + 1 < operations_.size() ? next_ + 1 : 0;
      const std::shared_ptr<Operation>& candidate = operations_[next_];
      if (candidate.use_count() == 1 && candidate->is_done()) return candidate;
    }
    // All are under way: as many again, so that the next calls find one without looking far.
    next_ = operations_.size();
    const std::size_t more = std::max<std::size_t>(1, operations_.size());
    for (std::size_t made = 0; made < more; ++made)
      operations_.push_back(std::make_shared<Operation>());
    return operations_[next_];
  }

  /// Memory of a call that keeps nothing in it. Peers of this machine reach it where it lies.
  void* memory(std::size_t bytes) {
    if (memory_.size() < bytes) memory_ = allocate(bytes);
    return memory_.data();
  }

 private:
  Operation blocking_{};
  Memory memory_{};
  std::vector<std::shared_ptr<Operation>> operations_{};
  std::size_t next_ = 0;
};

}  // namespace rondo::detail
