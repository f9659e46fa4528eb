// The public handles' insides, for the library's own files. Private to core/communicator.
#pragma once

#include <utility>

#include "core/communicator/state.h"

namespace rondo::detail {

struct CommunicatorAccess {
  static Communicator make(std::shared_ptr<CommunicatorState> state) {
    return Communicator(std::move(state));
  }
  static const std::shared_ptr<CommunicatorState>& state(const Communicator& communicator) {
    return communicator.state_;
  }
  static Work make(std::shared_ptr<CommunicatorState> state, std::shared_ptr<Operation> operation) {
    Work work;
    work.state_ = std::move(state);
    work.operation_ = std::move(operation);
    return work;
  }
  static const std::shared_ptr<CommunicatorState>& state(const Work& work) { return work.state_; }
};

/// True while this thread is between a Group's construction and its wait().
bool in_group();
/// Leaves work to the group's wait().
void add_to_group(Work work);

}  // namespace rondo::detail
