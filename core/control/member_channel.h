// ControlChannel for both kinds of world: keeps this rank's side, and speaks to the coordinator by a
// ControlTransport.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/control/control.h"
#include "core/control/message.h"

namespace rondo::control {

class MemberChannel;

/// Brings one rank's messages to the coordinator and the coordinator's to its channels.
class ControlTransport {
 public:
  virtual ~ControlTransport() = default;
  /// False if the coordinator has gone. Never calls back into a channel.
  virtual bool post(const Message& message) = 0;
  /// Calls channel.overdue() after a while, unless the channel is gone by then.
  virtual void remind(std::uint64_t channel) = 0;
  /// From add() on, messages for the channel's number reach channel.receive(), from any thread, one at a
  /// time. remove() waits for one that is on its way. If the coordinator is lost, add() tells the
  /// channel.
  virtual void add(MemberChannel& channel) = 0;
  virtual void remove(MemberChannel& channel) = 0;
  /// The process that serves, for messages: "rank 0 (host x, pid 7)".
  virtual HostInfo service() const = 0;
  virtual const std::vector<HostInfo>& world() const = 0;
  virtual std::chrono::milliseconds deadline() const = 0;
};

class MemberChannel final : public ControlChannel {
 public:
  /// Throws Error{invalid_argument} when `world_rank` is not a member.
  MemberChannel(std::shared_ptr<ControlTransport> transport, std::uint64_t number,
                std::vector<int> members, int world_rank);
  ~MemberChannel() override;
  MemberChannel(const MemberChannel&) = delete;
  MemberChannel& operator=(const MemberChannel&) = delete;

  std::vector<std::string> exchange(const std::string& mine) override;
  std::vector<std::optional<std::string>> exchange_living(
      const std::string& mine, std::chrono::milliseconds longest) override;
  Error failure() const override;
  void fail(const Error& error) noexcept override;
  void report_stall(bool expired) override;
  void report_stall_on(int peer, const std::string& what, bool expired) override;
  void report_mismatch(int peer, std::uint64_t sequence, bool earlier) override;
  void leave() noexcept override;
  void compare_calls(std::chrono::milliseconds longest) override;

  std::uint64_t number() const { return number_; }
  /// From the coordinator. Returns what to answer.
  std::optional<Message> receive(const Message& message);
  /// A report that had to end in a failure got no answer.
  void overdue();
  /// The connection to the coordinator ended, and another one may come. `unproven`: as
  /// Coordinator::died() has it.
  void service_lost(const std::string& unproven);
  /// The coordinator has ended, and no other one comes: `why`. A channel that has not failed goes on.
  void service_gone(const std::string& why);
  /// It has ended in order, and another one may come.
  void service_left();
  /// Another one has come. What it is to know, in this order. `lost`: the one before it was.
  std::vector<Message> service_came(bool lost);
  /// Whether one that comes later is to know of this channel, even when it is gone.
  bool has_decided() const;

 private:
  /// Its exchanges with the other ranks.
  struct Exchanges {
    std::uint64_t begun = 0;                   ///< of all ranks, so far
    std::optional<Blobs> of_all{};             ///< one of all ranks that is complete
    Blobs of_living{};                         ///< the last one among the living; round 0: none yet
    std::optional<Blob> pending{};             ///< what it waits for
    std::optional<ExchangeExpired> expired{};  ///< it has waited for long
    bool interrupted = false;                  ///< by an abort of this rank, while it waits
  };
  std::optional<Blobs> swap_blobs(const Blob& mine, std::chrono::milliseconds longest);
  Error reason_for_no_blobs() const;
  void report(const Stall& stall);
  void conclude_alone(const Stall& stall);
  bool set_failure(const Error& error);
  Failure failure_message(const Error& error) const;
  CallReport call_report(std::uint64_t from, std::uint64_t to) const;
  Leave leaving() const;
  std::string describe_service(int& peer) const;
  Open open() const {
    return {.communicator = number_, .members = {members_.begin(), members_.end()}};
  }
  std::string words_for(const Stall& stall) const;

  const std::shared_ptr<ControlTransport> transport_;
  const std::uint64_t number_;
  const std::vector<int> members_;
  const int world_rank_;
  int rank_ = -1;

  mutable std::mutex mutex_;  ///< never held while posting
  std::condition_variable changed_;
  std::optional<Error> failure_;         ///< under mutex_; set once, before failed_
  Exchanges exchanges_;                  ///< under mutex_
  std::optional<Stall> awaits_verdict_;  ///< under mutex_
  std::optional<Departed> departed_;     ///< under mutex_; for the next coordinator
  std::string unserved_{};               ///< under mutex_; why no coordinator will serve it again
  bool has_left_ = false;          ///< under mutex_; the coordinator, and no other one has come
  bool alike_ = false;             ///< under mutex_; its calls have been compared
  std::atomic<bool> left_{false};  ///< relaxed: only decides which thread posts Leave
};

/// A rank's channels, by number, for a ControlTransport. Not thread-safe.
class ChannelMap {
 public:
  void add(MemberChannel& channel) { channels_[channel.number()] = &channel; }
  /// Another channel may have the number by now. That one stays.
  void remove(const MemberChannel& channel) {
    if (find(channel.number()) == &channel) channels_.erase(channel.number());
  }
  /// Null: there is none (any more).
  MemberChannel* find(std::uint64_t number) const {
    const auto found = channels_.find(number);
    return found == channels_.end() ? nullptr : found->second;
  }
  void for_each(auto&& action) const {
    for (const auto& [number, channel] : channels_) action(*channel);
  }

 private:
  std::map<std::uint64_t, MemberChannel*> channels_{};
};

}  // namespace rondo::control
