#include "core/nccl/between_devices.h"

#include <algorithm>
#include <utility>

namespace rondo::nccl {
namespace {

bool is_collective(const Operation& operation) {
  return operation.call.collective != Collective::send_recv;
}

/// One communicator's collectives, in their order, and behind them its messages.
class Queue {
 public:
  explicit Queue(Member& member) : member_(&member) {}

  const Member* member() const { return member_; }
  void add(const Operation& operation) {
    (is_collective(operation) ? operations_ : messages_).push_back(&operation);
  }
  /// Puts the next piece into its stream; false when there is none. Operations that go another way
  /// join `others`.
  bool advance(std::vector<Operation>& others) {
    direct_device::DeviceCalls& calls = *member_->device_calls();
    if (running_) {
      running_ = calls.advance();
      return true;
    }
    if (next_ == operations_.size()) return begin_messages(calls, others);
    const Operation& operation = *operations_[next_++];
    member_->state();
    const stream::Request request = request_of(operation);
    if (calls.serves(request)) {
      calls.begin(request);
      running_ = true;
    } else {
      calls.pass_over(request);
      others.push_back(operation);
    }
    return true;
  }
  void clear() {
    running_ = false;
    next_ = operations_.size();
    messages_.clear();
  }

 private:
  /// False when there are none. Messages to this very rank go one way, all of them.
  bool begin_messages(direct_device::DeviceCalls& calls, std::vector<Operation>& others) {
    if (messages_.empty()) return false;
    const std::vector<const Operation*> messages = std::exchange(messages_, {});
    const int rank = member_->state().rank();
    const bool serves_own = std::ranges::all_of(messages, [&](const Operation* message) {
      return message->peer != rank || calls.serves(request_of(*message));
    });
    std::vector<stream::Request> requests;
    std::vector<bool> served;
    for (const Operation* const message : messages) {
      requests.push_back(request_of(*message));
      served.push_back(message->peer == rank ? serves_own : calls.serves(requests.back()));
    }
    calls.begin(std::move(requests), served);
    running_ = true;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (!served[i]) others.push_back(*messages[i]);
    }
    return true;
  }

  Member* member_;
  std::vector<const Operation*> operations_{};
  std::vector<const Operation*> messages_{};
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
    if (member->device_calls() == nullptr) {
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
