#include "core/dispatch/between_devices.h"

#include <algorithm>
#include <utility>

namespace rondo::dispatch {

/// One communicator's collectives, in their order, and after them its messages.
class BetweenDevices::Queue {
 public:
  explicit Queue(RankCalls& calls) : calls_(&calls) {}

  const RankCalls* calls() const { return calls_; }
  void add(const Asked& asked) {
    (is_message(asked.request) ? messages_ : collectives_).push_back(&asked);
  }
  bool is_empty() const { return next_ == collectives_.size() && messages_.empty(); }
  void begin_round() { passed_over_ = false; }
  /// Puts the next piece into its stream; false when there is none in this round. Calls that take
  /// another path join `others`.
  bool advance(AskedList& others) {
    direct_device::DeviceCalls& device = *calls_->between_devices();
    if (running_) {
      running_ = device.advance();
      return true;
    }
    if (next_ == collectives_.size()) return begin_messages(device, others);
    const Asked& asked = *collectives_[next_];
    const bool serves = device.serves(asked.request);
    if (serves && passed_over_) return false;
    ++next_;
    if (serves) {
      device.begin(asked.request);
      running_ = true;
    } else {
      device.pass_over(asked.request);
      others.push_back(&asked);
      passed_over_ = true;
    }
    return true;
  }
  void clear() {
    running_ = false;
    next_ = collectives_.size();
    messages_.clear();
  }

 private:
  /// False when there are none. Messages to the rank itself all take the same path.
  bool begin_messages(direct_device::DeviceCalls& device, AskedList& others) {
    if (messages_.empty()) return false;
    const AskedList messages = std::exchange(messages_, {});
    const int rank = calls_->state()->rank();
    const bool serves_own = std::ranges::all_of(messages, [&](const Asked* message) {
      return message->request.peer != rank || device.serves(message->request);
    });
    std::vector<stream::Request> requests;
    std::vector<bool> served;
    for (const Asked* const message : messages) {
      requests.push_back(message->request);
      served.push_back(message->request.peer == rank ? serves_own : device.serves(requests.back()));
    }
    device.begin(std::move(requests), served);
    running_ = true;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (!served[i]) others.push_back(messages[i]);
    }
    return true;
  }

  RankCalls* calls_;
  AskedList collectives_{};
  AskedList messages_{};
  std::size_t next_ = 0;
  bool running_ = false;
  bool passed_over_ = false;  ///< something, in this round
};

BetweenDevices::BetweenDevices(AskedSpan group) {
  for (const Asked* const asked : group) {
    if (asked->calls->between_devices() == nullptr) {
      others_.push_back(asked);
      continue;
    }
    auto queue = std::ranges::find(queues_, asked->calls, &Queue::calls);
    if (queue == queues_.end()) queue = queues_.insert(queues_.end(), Queue(*asked->calls));
    queue->add(*asked);
  }
}

BetweenDevices::~BetweenDevices() = default;

AskedList BetweenDevices::put(FirstFailure& failure) {
  AskedList others = std::exchange(others_, {});
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

}  // namespace rondo::dispatch
