// Coordinator: what becomes of messages from ranks. It has no sockets, threads or clock of
// its own: a service (TCP) or a thread world feeds it, one message at a time.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/control/analyzer.h"
#include "core/control/message.h"

namespace rondo::control {

class Coordinator {
 public:
  using Clock = std::chrono::steady_clock;
  /// One message for all of these ranks.
  using Deliver = std::function<void(std::span<const int> world_ranks, const Message&)>;

  /// `deliver` must not call back into the coordinator.
  Coordinator(std::vector<HostInfo> hosts, Deliver deliver);

  void receive(int world_rank, const Message& message, Clock::time_point now);
  /// The connection of `world_rank` ended without Bye. `unproven`: why nobody knows whether its
  /// process has ended; empty: it has.
  void died(int world_rank, Clock::time_point now, const std::string& unproven = {});
  /// The service goes. The ranks that stay are told which ranks have left their communicators, for the
  /// next coordinator.
  void tell_of_departed();
  /// The ranks that are gone.
  Closing closing() const;
  /// Call tick() then.
  std::optional<Clock::time_point> next_tick() const;
  void tick(Clock::time_point now);

 private:
  struct Member {
    int world_rank = 0;
    bool opened = false;
    bool left = false;
    bool late = false;        ///< left, as the others went on without it
    CallReport last{};        ///< its calls, as far as it reported them without a diagnosis
    bool compares = false;    ///< waits for Alike
    std::uint64_t asked = 0;  ///< the call that it was asked about, and has not answered; 0: none
    std::optional<Blob> blob{};      ///< its part of an exchange that is not complete
    std::uint64_t of_all = 0;        ///< the newest exchange of all that it took part in
    std::string noted{};             ///< the last note sent to it
    std::optional<Waiting> waits{};  ///< as its newest Stall has it
    Clock::time_point stalled_at{};
  };
  struct Diagnosis {
    std::uint64_t number = 0;
    int reporter = 0;
    Stall stall{};
    std::vector<std::optional<CallReport>> answers{};
    Clock::time_point deadline{};
  };
  struct Loss {
    std::size_t member = 0;
    Clock::time_point deadline{};
  };
  struct Group {
    std::uint64_t number = 0;     ///< of its communicator
    bool is_from_before = false;  ///< it was made under another coordinator
    bool was_lost = false;        ///< which did not say who had left
    std::vector<Member> members{};
    std::optional<Fault> fault{};
    int origin = -1;             ///< the member that failed it itself and needs no message
    std::optional<Loss> loss{};  ///< a member's death; the others are notified at the deadline
    std::optional<std::pair<int, ExchangeExpired>> expired{};  ///< said before all had told
    Blobs decided{};  ///< the newest exchange among the living; round 0: none yet
    std::optional<Diagnosis> diagnosis{};
    std::optional<std::pair<int, Stall>> next{};  ///< asked during the diagnosis
  };
  enum class Fate { present, departed, dead };

  void on(int from, const Open& message);
  void on(int from, const Blob& message);
  void on(int from, const Blobs& message);
  void on(int from, const Departed& message);
  void on(int from, const Told& message);
  void on(int from, const ExchangeExpired& message);
  void on(int from, const Stall& message);
  void on(int from, const Answer& message);
  void on(int from, const Leave& message);
  void on(int from, const Compare& message);
  void on(int from, const Failure& message);
  void gone(int world_rank, Fate fate);

  Group* find(std::uint64_t number);
  /// And which of its members the message's sender is. Null: it is in none.
  std::pair<Group*, std::size_t> sender_of(std::uint64_t number, int from);
  static int member_of(const Group& group, int world_rank);
  RankReport rank_report(const Group& group, std::size_t member) const;
  std::string describe_member(const Group& group, std::size_t member) const;
  void send(const Group& group, std::size_t member, const Message& message) const;
  /// To all members for which `wants(member)`.
  template <class Wants>
  void send_to(const Group& group, const Message& message, const Wants& wants) const;
  void send_failure(const Group& group, std::size_t member) const;
  void fail(Group& group, Fault fault, int origin = -1);
  void fail_for_gone(Group& group, std::size_t member);
  void lose(Group& group, std::size_t member);
  bool fail_for_loss(Group& group);
  void check_exchange(Group& group);
  void complete_exchange(Group& group, std::uint64_t round);
  std::string obstacle_for_those_who_came(const Group& group) const;
  void answer_decided(Group& group);
  void note_absent_from_before(Group& group);
  bool awaits_news(const Group& group) const;
  void resume_expiry(Group& group);
  void fail_for_absent(Group& group);
  static void end_exchange_of_all(Group& group);
  void go_on_without_late(Group& group, std::uint64_t milliseconds);
  void begin_diagnosis(Group& group, int reporter, const Stall& stall);
  void check_diagnosis(Group& group);
  void take_report(Group& group, std::size_t member, const CallReport& report);
  static bool differs(const Group& group, std::size_t member);
  void ask_for_comparison(Group& group, const CallReport& report);
  void answer_comparisons(Group& group);
  void erase_if_left(std::uint64_t number);

  std::vector<HostInfo> hosts_;
  std::vector<Fate> fates_;
  std::vector<bool> told_;  ///< ranks that came from another coordinator and have said all
  std::map<int, std::string> unproven_{};  ///< ranks that are dead for all others, and why not
  Deliver deliver_;
  std::map<std::uint64_t, Group> groups_;
  std::uint64_t diagnoses_ = 0;
  Clock::time_point now_{};  ///< of the message or tick in work
};

template <class Wants>
void Coordinator::send_to(const Group& group, const Message& message, const Wants& wants) const {
  std::vector<int> ranks;
  for (const Member& member : group.members)
    if (wants(member) && fates_[static_cast<std::size_t>(member.world_rank)] == Fate::present)
      ranks.push_back(member.world_rank);
  if (!ranks.empty()) deliver_(ranks, message);
}

}  // namespace rondo::control
