#include "core/nccl/between_devices.h"

#include <algorithm>
#include <utility>

namespace rondo::nccl {

/// One communicator's collectives, in their order, and after them its messages.
class BetweenDevices::Queue {
 public:
  explicit Queue(Member& member) : member_(&member) {}

  const Member* member() const { return member_; }
  void add(const Operation& operation) {
    (is_message(operation) ? messages_ : operations_).push_back(&operation);
  }
  bool is_empty() const { return next_ == operations_.size() && messages_.empty(); }
  void begin_round() { passed_over_ = false; }
  /// Puts the next piece into its stream; false when there is none in this round. Operations that
  /// take another path join `others`.
  bool advance(std::vector<Operation>& others) {
    direct_device::DeviceCalls& calls = *member_->device_calls();
    if (running_) {
      running_ = calls.advance();
      return true;
    }
    if (next_ == operations_.size()) return begin_messages(calls, others);
    const Operation& operation = *operations_[next_];
    member_->state();
    const stream::Request request = request_of(operation);
    const bool serves = calls.serves(request);
    if (serves && passed_over_) return false;
    ++next_;
    if (serves) {
      calls.begin(request);
      running_ = true;
    } else {
      calls.pass_over(request);
      others.push_back(operation);
      passed_over_ = true;
    }
    return true;
  }
  void clear() {
    running_ = false;
    next_ = operations_.size();
    messages_.clear();
  }

 private:
  /// False when there are none. Messages to the rank itself all take the same path.
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
  bool passed_over_ = false;  ///< something, in this round
};

bool concern_devices(std::span<const Operation> operations) {
  return std::ranges::any_of(operations, [](const Operation& operation) {
    return operation.member->device_calls() != nullptr;
  });
}

BetweenDevices::BetweenDevices(std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    Member* const member = operation.member.get();
    if (member->device_calls() == nullptr) {
      others_.push_back(operation);
      continue;
    }
    auto queue = std::ranges::find(queues_, member, &Queue::member);
    if (queue == queues_.end()) queue = queues_.insert(queues_.end(), Queue(*member));
    queue->add(operation);
  }
}

BetweenDevices::~BetweenDevices() = default;

std::vector<Operation> BetweenDevices::put(FirstFailure& failure) {
  std::vector<Operation> others = std::exchange(others_, {});
  std::ranges::for_each(queues_, &Queue::begin_round);
  bool more = !queues_.empty();
  while (more) {
    more = false;
    for (Queue& queue : queues_) {
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

bool BetweenDevices::has_more() const { return !std::ranges::all_of(queues_, &Queue::is_empty); }

std::vector<const Member*> members_through_host(std::span<const Operation> operations) {
  std::vector<const Member*> members;
  for (const Operation& operation : operations) {
    const direct_device::DeviceCalls* const calls = operation.member->device_calls();
    if (calls != nullptr && calls->serves(request_of(operation))) continue;
    if (needs_stream_order(operation)) members.push_back(operation.member.get());
  }
  return members;
}

}  // namespace rondo::nccl
