// A world of threads: the coordinator guarded by a mutex, messages by function call.
#include <deque>

#include "core/control/control.h"
#include "core/control/coordinator.h"
#include "core/control/member_channel.h"

namespace rondo {
namespace control {
namespace {

/// Shared by the ranks. Lock order: mutex_, then a channel's own.
class ThreadWorld {
 public:
  ThreadWorld(int ranks, const HostInfo& host, std::chrono::milliseconds deadline)
      : hosts_(static_cast<std::size_t>(ranks), host),
        deadline_(deadline),
        channels_(hosts_.size()),
        coordinator_(hosts_, [this](std::span<const int> those, const Message& message) {
          for (const int rank : those) deliver(rank, message);
        }) {}

  void post(int rank, const Message& message) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(rank, message);
    // A rank's answers join the queue: the coordinator is never entered twice.
    while (!waiting_.empty()) {
      const auto [from, next] = std::move(waiting_.front());
      waiting_.pop_front();
      coordinator_.receive(from, next, Coordinator::Clock::now());
    }
  }

  void add(int rank, MemberChannel& channel) {
    const std::lock_guard lock(mutex_);
    channels_[static_cast<std::size_t>(rank)].add(channel);
  }

  void remove(int rank, MemberChannel& channel) {
    const std::lock_guard lock(mutex_);
    channels_[static_cast<std::size_t>(rank)].remove(channel);
  }

  const std::vector<HostInfo>& hosts() const { return hosts_; }
  const Secret& secret() const { return secret_; }
  std::chrono::milliseconds deadline() const { return deadline_; }

 private:
  /// Called by the coordinator, with mutex_ held. Each of its messages to a channel has the channel
  /// number.
  void deliver(int rank, const Message& message) {
    const auto number = communicator_of(message);
    const auto& of_rank = channels_[static_cast<std::size_t>(rank)];
    MemberChannel* const found = number ? of_rank.find(*number) : nullptr;
    if (found == nullptr) return;
    if (auto answer = found->receive(message)) waiting_.emplace_back(rank, *std::move(answer));
  }

  const std::vector<HostInfo> hosts_;
  const Secret secret_ = random_secret();
  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;  ///< guards everything below
  std::vector<ChannelMap> channels_;
  std::deque<std::pair<int, Message>> waiting_;
  Coordinator coordinator_;
};

class ThreadControl final : public Control,
                            public ControlTransport,
                            public std::enable_shared_from_this<ThreadControl> {
 public:
  ThreadControl(std::shared_ptr<ThreadWorld> world, int rank)
      : world_(std::move(world)), rank_(rank) {}
  ~ThreadControl() override { depart(); }
  ThreadControl(const ThreadControl&) = delete;
  ThreadControl& operator=(const ThreadControl&) = delete;

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(hosts().size()); }
  const std::vector<HostInfo>& hosts() const override { return world_->hosts(); }
  const Secret& secret() const override { return world_->secret(); }
  std::shared_ptr<ControlChannel> open(std::uint64_t number, std::vector<int> members) override {
    return std::make_shared<MemberChannel>(shared_from_this(), number, std::move(members), rank_);
  }

  void depart() noexcept override {
    try {
      world_->post(rank_, Bye{});  // the coordinator hears only the first
    } catch (...) {
      // No memory for it: its threads learn of it with the process's end.
    }
  }

  bool post(const Message& message) override {
    world_->post(rank_, message);
    return true;
  }
  void remind(std::uint64_t) override {}  // threads of one process always answer
  void add(MemberChannel& channel) override { world_->add(rank_, channel); }
  void remove(MemberChannel& channel) override { world_->remove(rank_, channel); }
  HostInfo service() const override { return hosts().front(); }
  const std::vector<HostInfo>& world() const override { return hosts(); }
  std::chrono::milliseconds deadline() const override { return world_->deadline(); }

 private:
  const std::shared_ptr<ThreadWorld> world_;
  const int rank_;
};

}  // namespace
}  // namespace control

std::vector<std::shared_ptr<Control>> meet_threads(int ranks, const HostInfo& host,
                                                   std::chrono::milliseconds deadline) {
  if (ranks < 1) {
    throw Error(ErrorCode::invalid_argument,
                "a world of " + std::to_string(ranks) + " ranks; there must be at least one");
  }
  const auto world = std::make_shared<control::ThreadWorld>(ranks, host, deadline);
  std::vector<std::shared_ptr<Control>> controls;
  for (int rank = 0; rank < ranks; ++rank) {
    controls.push_back(std::make_shared<control::ThreadControl>(world, rank));
  }
  return controls;
}

}  // namespace rondo
