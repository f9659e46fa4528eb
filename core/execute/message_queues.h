// MessageQueues: sends and receives under way, in the order they were made per peer and direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/execute/operation.h"
#include "core/execute/queue.h"

namespace rondo::detail {

class MessageQueues {
 public:
  explicit MessageQueues(int ranks) : queues_(static_cast<std::size_t>(ranks) * 2) {}

  bool empty() const { return busy_.empty(); }
  void push(Operation* operation) {
    operation->submitted = submitted_++;
    const std::size_t at =
        static_cast<std::size_t>(operation->point_to_point_peer) * 2 + (operation->sends ? 1 : 0);
    if (queues_[at].empty()) busy_.push_back(at);
    queues_[at].push(operation);
  }
  /// Calls run(queue) for each that is not empty, which may take operations from it. True when one
  /// of these calls returned true.
  template <class Run>
  bool run_each(Run run) {
    bool moved = false;
    for (std::size_t i = 0; i < busy_.size();) {
      Queue<Operation*>& queue = queues_[busy_[i]];
      moved |= run(queue);
      if (queue.empty()) {
        busy_[i] = busy_.back();
        busy_.pop_back();
      } else {
        ++i;
      }
    }
    return moved;
  }
  /// The one that was made first; null where there is none.
  const Operation* oldest() const {
    const Operation* oldest = nullptr;
    for (const std::size_t at : busy_) {
      const Operation* const first = queues_[at].front();
      if (oldest == nullptr || first->submitted < oldest->submitted) oldest = first;
    }
    return oldest;
  }

 private:
  std::vector<Queue<Operation*>> queues_;  ///< by peer and direction
  std::vector<std::size_t> busy_{};        ///< those that are not empty
  std::uint64_t submitted_ = 0;            ///< sends and receives so far
};

}  // namespace rondo::detail
