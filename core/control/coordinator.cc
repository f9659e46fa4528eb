#include "core/control/coordinator.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/control/times.h"

namespace rondo::control {
namespace {

/// When a second report comes during a diagnosis, keeps the one that demands more.
int weight(const Stall& stall) { return 2 * stall.mismatch + stall.expired; }

/// The part of the report that the words about a rank that left need.
CallReport newest_of(const CallReport& report) {
  CallReport newest{.begun = report.begun, .completed = report.completed};
  if (const Call* const call = report.find(report.begun)) newest.calls.push_back(*call);
  return newest;
}

}  // namespace

Coordinator::Coordinator(std::vector<HostInfo> hosts, Deliver deliver)
    : hosts_(std::move(hosts)),
      fates_(hosts_.size(), Fate::present),
      told_(hosts_.size()),
      deliver_(std::move(deliver)) {}

void Coordinator::receive(int world_rank, const Message& message, Clock::time_point now) {
  now_ = now;
  if (fates_[static_cast<std::size_t>(world_rank)] != Fate::present) return;
  std::visit(
      [&](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Bye>) {
          gone(world_rank, Fate::departed);
        } else if constexpr (requires { on(world_rank, value); }) {
          on(world_rank, value);
        }
      },
      message);
}

void Coordinator::died(int world_rank, Clock::time_point now, const std::string& unproven) {
  now_ = now;
  if (!unproven.empty()) unproven_[world_rank] = unproven;
  gone(world_rank, Fate::dead);
}

void Coordinator::tell_of_departed() {
  for (auto& [number, group] : groups_) {
    if (group.fault || fail_for_loss(group)) continue;
    Departed departed{.communicator = group.number};
    for (std::size_t member = 0; member < group.members.size(); ++member) {
      const Member& left = group.members[member];
      if (!left.left) continue;
      departed.ranks.push_back(static_cast<std::int32_t>(member));
      departed.reports.push_back(newest_of(left.last));
    }
    if (departed.ranks.empty()) continue;
    send_to(group, departed, [](const Member& member) { return !member.left; });
  }
}

Closing Coordinator::closing() const {
  Closing closing;
  for (int rank = 0; rank < std::ssize(fates_); ++rank) {
    const Fate fate = fates_[static_cast<std::size_t>(rank)];
    if (fate == Fate::departed) closing.left.push_back(rank);
    if (fate == Fate::dead && !unproven_.contains(rank)) closing.dead.push_back(rank);
  }
  return closing;
}

std::optional<Coordinator::Clock::time_point> Coordinator::next_tick() const {
  std::optional<Clock::time_point> next;
  const auto at = [&](Clock::time_point deadline) {
    if (!next || deadline < *next) next = deadline;
  };
  for (const auto& [number, group] : groups_) {
    if (group.diagnosis) at(group.diagnosis->deadline);
    if (group.loss) at(group.loss->deadline);
  }
  return next;
}

void Coordinator::tick(Clock::time_point now) {
  now_ = now;
  for (auto& [number, group] : groups_) {
    check_diagnosis(group);
    if (group.loss && now_ >= group.loss->deadline) fail_for_loss(group);
  }
}

void Coordinator::on(int from, const Open& message) {
  const auto in_world = [&](int rank) {
    return rank >= 0 && rank < static_cast<int>(hosts_.size());
  };
  if (!std::ranges::all_of(message.members, in_world)) return;
  Group& group = groups_[message.communicator];
  if (group.members.empty()) {
    group.number = message.communicator;
    for (const int rank : message.members) group.members.push_back({.world_rank = rank});
  }
  const int self = member_of(group, from);
  if (self < 0) return;
  group.is_from_before = group.is_from_before || message.again != 0;
  group.was_lost = group.was_lost || message.again == 1;
  Member& own = group.members[static_cast<std::size_t>(self)];
  if (!own.opened && !own.late) own.left = false;  // it has not left, but only comes now
  own.opened = true;
  note_absent_from_before(group);
  const bool same = std::equal(
      group.members.begin(), group.members.end(), message.members.begin(), message.members.end(),
      [](const Member& member, int world_rank) { return member.world_rank == world_rank; });
  if (group.fault) {
    send_failure(group, static_cast<std::size_t>(self));
  } else if (!same) {
    fail(group,
         fault_for_all(ErrorCode::mismatch,
                       "rank " + std::to_string(self) + " lists other members of this communicator",
                       "pass the same ranks, colors and keys on every rank", group.members.size(),
                       self));
  }
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    Member& each = group.members[member];
    if (each.left || fates_[static_cast<std::size_t>(each.world_rank)] == Fate::present) continue;
    each.left = true;
    // Who ended in order under the coordinator before had left it, or had made it fail.
    const bool had_left =
        group.is_from_before && fates_[static_cast<std::size_t>(each.world_rank)] == Fate::departed;
    if (!group.fault && !had_left) fail_for_gone(group, member);
  }
}

void Coordinator::on(int from, const Departed& message) {
  const auto [group, self] = sender_of(message.communicator, from);
  if (group == nullptr || message.reports.size() != message.ranks.size()) return;
  for (std::size_t i = 0; i < message.ranks.size(); ++i) {
    if (message.ranks[i] < 0 || message.ranks[i] >= std::ssize(group->members)) continue;
    Member& member = group->members[static_cast<std::size_t>(message.ranks[i])];
    member.opened = member.left = true;
    member.last = message.reports[i];
  }
}

void Coordinator::on(int from, const Told&) {
  told_[static_cast<std::size_t>(from)] = true;
  for (auto& [number, group] : groups_) {
    note_absent_from_before(group);
    check_exchange(group);
    resume_expiry(group);
  }
}

/// Ranks that told this coordinator all they know, and not of this communicator, had left it before.
void Coordinator::note_absent_from_before(Group& group) {
  if (!group.was_lost) return;
  for (Member& member : group.members)
    if (!member.opened && told_[static_cast<std::size_t>(member.world_rank)]) member.left = true;
}

void Coordinator::on(int from, const Stall& message) {
  const auto [group, self] = sender_of(message.communicator, from);
  if (group == nullptr || group->fault) return;
  if (message.peer >= static_cast<int>(group->members.size())) return;
  if (message.mismatch != 0 && message.peer < 0) return;
  if (fail_for_loss(*group)) return;
  Member& member = group->members[self];
  member.waits.reset();
  if (message.peer >= 0 && !message.what.empty())
    member.waits = Waiting{message.peer, message.what};
  member.stalled_at = now_;
  if (!group->diagnosis) {
    begin_diagnosis(*group, static_cast<int>(self), message);
  } else if (!group->next || weight(message) > weight(group->next->second)) {
    group->next = {static_cast<int>(self), message};
  }
}

void Coordinator::begin_diagnosis(Group& group, int reporter, const Stall& stall) {
  group.diagnosis = Diagnosis{.number = ++diagnoses_,
                              .reporter = reporter,
                              .stall = stall,
                              .answers = {},
                              .deadline = now_ + times::for_reports};
  group.diagnosis->answers.resize(group.members.size());
  const Message query(Query{.communicator = group.number,
                            .diagnosis = diagnoses_,
                            .from = first_asked(stall),
                            .to = stall.to});
  send_to(group, query, [](const Member& member) { return member.opened && !member.left; });
  check_diagnosis(group);
}

void Coordinator::on(int from, const Answer& message) {
  const auto [group, self] = sender_of(message.communicator, from);
  if (group == nullptr) return;
  if (message.diagnosis == 0) {
    return take_report(*group, self, message.report);
  }
  if (!group->diagnosis || group->diagnosis->number != message.diagnosis) return;
  group->diagnosis->answers[self] = message.report;
  check_diagnosis(*group);
}

/// Ends the diagnosis when every rank has answered or its time is up.
void Coordinator::check_diagnosis(Group& group) {
  if (!group.diagnosis) return;
  const Diagnosis& diagnosis = *group.diagnosis;
  std::vector<RankReport> rank_reports;
  bool complete = true;
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    auto& last = rank_reports.emplace_back(rank_report(group, member));
    if (last.left || !last.opened) continue;
    last.answered = diagnosis.answers[member].has_value();
    if (last.answered) last.report = *diagnosis.answers[member];
    complete = complete && last.answered;
  }
  if (!complete && now_ < diagnosis.deadline) return;
  auto verdict = analyze(diagnosis.reporter, diagnosis.stall, rank_reports);
  const auto reporter = static_cast<std::size_t>(diagnosis.reporter);
  group.diagnosis.reset();
  const auto next = std::exchange(group.next, std::nullopt);
  if (verdict.fault) {
    fail(group, *std::move(verdict.fault));
  } else {
    std::string& noted = group.members[reporter].noted;
    if (!verdict.note.empty() && verdict.note != noted) {
      noted = verdict.note;
      send(group, reporter, Note{.communicator = group.number, .text = std::move(verdict.note)});
    }
    if (next) begin_diagnosis(group, next->first, next->second);
  }
}

void Coordinator::on(int from, const Leave& message) {
  const auto [group, self] = sender_of(message.communicator, from);
  if (group == nullptr) return;
  auto& member = group->members[self];
  member.opened = true;
  member.left = true;
  member.late = false;
  member.compares = false;
  take_report(*group, self, message.report);
  check_diagnosis(*group);
  check_exchange(*group);
  erase_if_left(message.communicator);
}

void Coordinator::on(int from, const Failure& message) {
  const auto [group, self] = sender_of(message.communicator, from);
  if (group == nullptr || group->fault) return;
  const int peer = message.peer >= 0 ? message.peer : static_cast<int>(self);
  auto fault = fault_for_all(static_cast<ErrorCode>(message.code),
                             "rank " + std::to_string(self) + " reports: " + message.message,
                             message.remedy, group->members.size(), peer);
  fault.call.assign(group->members.size(), message.call);
  if (peer < static_cast<int>(group->members.size()))
    fault.peer[static_cast<std::size_t>(peer)] = static_cast<int>(self);  // not itself
  fail(*group, std::move(fault), static_cast<int>(self));
}

void Coordinator::gone(int world_rank, Fate fate) {
  auto& known = fates_[static_cast<std::size_t>(world_rank)];
  if (known != Fate::present) return;
  known = fate;
  std::vector<std::uint64_t> numbers;
  for (auto& [number, group] : groups_) {
    const int self = member_of(group, world_rank);
    if (self < 0) continue;
    auto& member = group.members[static_cast<std::size_t>(self)];
    const bool missed = !member.left && !group.fault;
    member.left = true;
    if (missed && fate == Fate::dead) lose(group, static_cast<std::size_t>(self));
    if (missed && fate == Fate::departed) fail_for_gone(group, static_cast<std::size_t>(self));
    check_exchange(group);
    resume_expiry(group);
    if (!group.fault) answer_comparisons(group);
    numbers.push_back(number);
  }
  for (const auto number : numbers) erase_if_left(number);
}

/// Notifies the members at once if one of them is known to wait.
void Coordinator::lose(Group& group, std::size_t member) {
  const bool awaited =
      group.diagnosis || std::ranges::any_of(group.members, [](const Member& other) {
        return other.blob.has_value();
      });
  if (!group.loss) group.loss = Loss{.member = member, .deadline = now_ + times::grace};
  if (awaited) fail_for_loss(group);
}

/// True where there was one: the group has failed.
bool Coordinator::fail_for_loss(Group& group) {
  if (!group.loss) return false;
  fail_for_gone(group, group.loss->member);
  return true;
}

void Coordinator::fail_for_gone(Group& group, std::size_t member) {
  const int world_rank = group.members[member].world_rank;
  const std::string who = describe_member(group, member);
  const auto tell = [&](ErrorCode code, const std::string& what, std::string_view remedy) {
    fail(group, fault_for_all(code, who + what, std::string(remedy), group.members.size(),
                              static_cast<int>(member)));
  };
  if (fates_[static_cast<std::size_t>(world_rank)] != Fate::dead)
    return tell(ErrorCode::peer_lost, " has left the job", "");
  const auto why = unproven_.find(world_rank);
  if (why == unproven_.end()) return tell(ErrorCode::peer_lost, words_of_death, remedy_of_death);
  tell(ErrorCode::timeout, words_of_unreached + why->second, remedy_of_unreached);
}

void Coordinator::fail(Group& group, Fault fault, int origin) {
  group.fault = std::move(fault);
  group.origin = origin;
  group.loss.reset();
  group.diagnosis.reset();
  group.next.reset();
  end_exchange_of_all(group);
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    if (static_cast<int>(member) != origin && group.members[member].opened) {
      send_failure(group, member);
    }
  }
}

void Coordinator::send_failure(const Group& group, std::size_t member) const {
  send(group, member,
       Failure{.communicator = group.number,
               .code = static_cast<std::uint8_t>(group.fault->code),
               .peer = group.fault->peer[member],
               .message = group.fault->message,
               .call = group.fault->call[member],
               .remedy = group.fault->remedy});
}

Coordinator::Group* Coordinator::find(std::uint64_t number) {
  const auto found = groups_.find(number);
  return found == groups_.end() ? nullptr : &found->second;
}

std::pair<Coordinator::Group*, std::size_t> Coordinator::sender_of(std::uint64_t number, int from) {
  Group* const group = find(number);
  const int self = group == nullptr ? -1 : member_of(*group, from);
  if (self < 0) return {nullptr, 0};
  return {group, static_cast<std::size_t>(self)};
}

int Coordinator::member_of(const Group& group, int world_rank) {
  const auto found = std::ranges::find_if(
      group.members, [&](const Member& member) { return member.world_rank == world_rank; });
  return found == group.members.end() ? -1 : static_cast<int>(found - group.members.begin());
}

RankReport Coordinator::rank_report(const Group& group, std::size_t member) const {
  const Member& found = group.members[member];
  const bool waits_still = now_ - found.stalled_at <= times::of_stall;
  return {.host = hosts_[static_cast<std::size_t>(found.world_rank)],
          .world_rank = found.world_rank,
          .opened = found.opened,
          .left = found.left,
          .answered = true,
          .report = found.last,
          .waits = waits_still ? found.waits : std::nullopt};
}

std::string Coordinator::describe_member(const Group& group, std::size_t member) const {
  return describe(static_cast<int>(member), rank_report(group, member));
}

void Coordinator::send(const Group& group, std::size_t member, const Message& message) const {
  const Member* const wanted = &group.members[member];
  send_to(group, message, [wanted](const Member& each) { return &each == wanted; });
}

/// A late rank that lives is still to hear that the others went on.
void Coordinator::erase_if_left(std::uint64_t number) {
  const Group* const group = find(number);
  const auto is_done = [&](const Member& member) {
    const bool is_there = fates_[static_cast<std::size_t>(member.world_rank)] == Fate::present;
    return member.left && !(member.late && is_there);
  };
  if (group != nullptr && std::ranges::all_of(group->members, is_done)) groups_.erase(number);
}

}  // namespace rondo::control
