#include "core/nccl/between_devices.h"

#include <algorithm>

namespace rondo::nccl {
namespace {

bool is_collective(const Operation& operation) {
  return operation.call.collective != Collective::send_recv;
}

/// One communicator's collectives, in their order.
class Queue {
 public:
  explicit Queue(Member& member) : member_(&member) {}

  const Member* member() const { return member_; }
  void add(const Operation& operation) { operations_.push_back(&operation); }
  /// Puts the next piece into its stream; false when there is none. Operations that go another way
  /// join `others`.
  bool advance(std::vector<Operation>& others) {
    direct_device::DeviceCalls& calls = *member_->device_calls();
    if (running_) {
      running_ = calls.advance();
      return true;
    }
    if (next_ == operations_.size()) return false;
    const Operation& operation = *operations_[next_++];
    member_->state();
    const stream::Request request = request_of(operation);
    if (calls.serves(request)) {
      calls.begin(request);
      running_ = true;
    } else {
      calls.pass_over(operation.call);
      others.push_back(operation);
    }
    return true;
  }
  void clear() {
    running_ = false;
    next_ = operations_.size();
  }

 private:
  Member* member_;
  std::vector<const Operation*> operations_{};
  std::size_t next_ = 0;
  bool running_ = false;
};

}  // namespace

bool concern_devices(std::span<const Operation> operations) {
  return std::ranges::any_of(operations, [](const Operation& operation) {
    return operation.member->device_calls() != nullptr;
  });
}

std::vector<Operation> put_between_devices(std::span<const Operation> operations,
                                           FirstFailure& failure) {
  std::vector<Queue> queues;
  std::vector<Operation> others;
  for (const Operation& operation : operations) {
    Member* const member = operation.member.get();
    if (member->device_calls() == nullptr || !is_collective(operation)) {
      others.push_back(operation);
      continue;
    }
    auto queue = std::ranges::find(queues, member, &Queue::member);
    if (queue == queues.end()) queue = queues.insert(queues.end(), Queue(*member));
    queue->add(operation);
  }
  bool more = !queues.empty();
  while (more) {
    more = false;
    for (Queue& queue : queues) {
      bool ended = true;  // by a failure, unless it says otherwise
      failure.watch([&] {
        more |= queue.advance(others);
        ended = false;
      });
      if (ended) queue.clear();
    }
  }
  return others;
}

}  // namespace rondo::nccl
