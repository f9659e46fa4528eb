// The public handles' insides, for the library's own files. Private to core/communicator.
#pragma once

#include <memory>
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

/// The communicator that a handle refers to. Throws Error{invalid_usage} where it refers to none.
CommunicatorState& usable(const std::shared_ptr<CommunicatorState>& state);

/// True while this thread is between a Group's construction and its wait().
bool in_group();
/// Leaves work to the group's wait().
void add_to_group(Work work);

/// Calls that a group leaves to its outermost wait(), beside work: those that go into streams.
class GroupPart {
 public:
  GroupPart() = default;
  virtual ~GroupPart() = default;
  GroupPart(const GroupPart&) = delete;
  GroupPart& operator=(const GroupPart&) = delete;
  /// Called by the thread whose group it is. May throw.
  virtual void run() = 0;
};
/// That of this thread's group; null: none was made yet. The group runs it once, or drops it when an
/// exception ends the group.
std::unique_ptr<GroupPart>& part_of_group();

}  // namespace rondo::detail
