// The coordinator's part in exchanges. One of all ranks needs all of them, and ends when the
// communicator fails. One among the living has neither need: it is how survivors agree, so what the
// coordinator decides here about who is gone holds for all of them.
#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/control/coordinator.h"

namespace rondo::control {

void Coordinator::on(int from, const Blob& message) {
  const auto [group, self] = sender_of(message.communicator, from);
  if (group == nullptr) return;
  const bool of_all = message.round == 0;
  if (of_all && (group->fault || message.of_all <= group->members[self].of_all)) return;
  if (of_all) group->members[self].of_all = message.of_all;
  group->members[self].blob = message;
  if (fail_for_loss(*group) && of_all) return;
  answer_decided(*group);
  check_exchange(*group);
}

/// A new coordinator learns what the one before it has decided. Some ranks may not know it yet.
void Coordinator::on(int from, const Blobs& message) {
  const auto [group, self] = sender_of(message.communicator, from);
  if (group == nullptr || message.round <= group->decided.round ||
      message.bytes.size() != group->members.size())
    return;
  group->decided = message;
  for (const std::int32_t missing : message.missing) {
    if (missing < 0 || static_cast<std::size_t>(missing) >= group->members.size()) continue;
    Member& member = group->members[static_cast<std::size_t>(missing)];
    member.left = true;
    member.late = fates_[static_cast<std::size_t>(member.world_rank)] == Fate::present;
  }
  answer_decided(*group);
  check_exchange(*group);
}

/// For members that wait for what has been decided, and for those that the others went on without.
void Coordinator::answer_decided(Group& group) {
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    Member& each = group.members[member];
    if (!each.blob || each.blob->round == 0) continue;
    if (each.blob->round <= group.decided.round) {
      each.blob.reset();
      send(group, member, group.decided);
    } else if (each.left) {
      const std::uint64_t round = std::exchange(each.blob, std::nullopt)->round;
      send(group, member,
           Blobs{.communicator = group.number,
                 .round = round,
                 .bytes = std::vector<std::string>(group.members.size()),
                 .missing = {static_cast<std::int32_t>(member)}});
    }
  }
}

void Coordinator::check_exchange(Group& group) {
  const auto waits_in = [&](bool living) {
    return std::ranges::find_if(group.members, [=](const Member& member) {
      return member.blob && (member.blob->round != 0) == living;
    });
  };
  const auto none = group.members.end();
  const auto in_all = waits_in(false);
  const auto in_living = waits_in(true);
  if (in_all == none && in_living == none) return;
  if (in_all != none && in_living != none) {
    const auto first = in_all - group.members.begin();
    return fail(group, fault_for_all(ErrorCode::mismatch,
                                     "rank " + std::to_string(in_living - group.members.begin()) +
                                         " agrees or shrinks, but rank " + std::to_string(first) +
                                         " makes another communicator",
                                     "make the same calls in the same order on every rank",
                                     group.members.size(), static_cast<int>(first)));
  }
  const bool living = in_living != none;
  const bool complete = std::ranges::all_of(group.members, [&](const Member& member) {
    return member.blob.has_value() || (living && member.left);
  });
  if (complete) return complete_exchange(group, living ? in_living->blob->round : 0);
  if (!living) fail_for_absent(group);
}

void Coordinator::complete_exchange(Group& group, std::uint64_t round) {
  Blobs all{.communicator = group.number, .round = round};
  if (round != 0) all.refusal = obstacle_for_those_who_came(group);
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    auto blob = std::exchange(group.members[member].blob, std::nullopt);
    if (!blob) all.missing.push_back(static_cast<std::int32_t>(member));
    all.bytes.push_back(blob ? std::move(blob->bytes) : std::string());
  }
  if (round != 0) group.decided = all;
  const Message message(std::move(all));
  send_to(group, message, [](const Member& member) { return !member.left; });
}

/// Nobody knows whether a rank that is late has ended.
std::string Coordinator::obstacle_for_those_who_came(const Group& group) const {
  std::vector<int> come;
  std::vector<int> may_live;
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    const Member& each = group.members[member];
    const bool is_unproven = each.late || unproven_.contains(each.world_rank);
    if (each.blob) come.push_back(static_cast<int>(member));
    if (each.blob || is_unproven) may_live.push_back(static_cast<int>(member));
  }
  return obstacle_to_going_on(come, may_live);
}

/// A member that has left will not bring what the others wait for.
void Coordinator::fail_for_absent(Group& group) {
  const auto waits = std::ranges::find_if(
      group.members, [](const Member& member) { return member.blob.has_value(); });
  const auto absent = std::ranges::find_if(
      group.members, [](const Member& member) { return member.left && !member.blob; });
  if (group.fault || waits == group.members.end() || absent == group.members.end()) return;
  const auto self = static_cast<std::size_t>(absent - group.members.begin());
  fail(group, fault_for_all(ErrorCode::mismatch,
                            describe_member(group, self) + " has left the communicator, but rank " +
                                std::to_string(waits - group.members.begin()) +
                                " waits for it to make another one",
                            "call split() and dup() on every rank before it finalizes",
                            group.members.size(), static_cast<int>(self)));
}

void Coordinator::end_exchange_of_all(Group& group) {
  for (Member& member : group.members)
    if (member.blob && member.blob->round == 0) member.blob.reset();
}

void Coordinator::on(int from, const ExchangeExpired& message) {
  const auto [group, self] = sender_of(message.communicator, from);
  // Without a blob of its own: they went out in the meantime, and nothing has expired.
  if (group == nullptr || !group->members[self].blob) return;
  if (awaits_news(*group)) {
    group->expired = {from, message};
    return;
  }
  if (group->members[self].blob->round != 0)
    return go_on_without_late(*group, message.milliseconds);
  std::vector<int> missing;
  for (std::size_t member = 0; member < group->members.size(); ++member) {
    if (!group->members[member].blob) missing.push_back(static_cast<int>(member));
  }
  const auto first = static_cast<std::size_t>(missing.front());
  std::string text = rank_list(missing) + " did not take part in making the communicator within " +
                     seconds(message.milliseconds);
  if (missing.size() == 1) text += ": " + describe_member(*group, first);
  fail(*group,
       fault_for_all(ErrorCode::bootstrap, std::move(text),
                     "make the communicator on every rank, or raise RONDO_BOOTSTRAP_TIMEOUT",
                     group->members.size(), missing.front()));
}

/// Ranks that came from another coordinator may still say that they wait in this exchange, too.
bool Coordinator::awaits_news(const Group& group) const {
  return group.is_from_before && std::ranges::any_of(group.members, [&](const Member& member) {
           const auto rank = static_cast<std::size_t>(member.world_rank);
           return fates_[rank] == Fate::present && !told_[rank];
         });
}

void Coordinator::resume_expiry(Group& group) {
  if (!group.expired || awaits_news(group)) return;
  const auto [from, message] = *std::exchange(group.expired, std::nullopt);
  on(from, message);
}

/// The ranks that have not come are out: the others go on, if they are enough, and know with whom.
void Coordinator::go_on_without_late(Group& group, std::uint64_t milliseconds) {
  std::vector<int> late;
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    const Member& each = group.members[member];
    if (!each.blob && !each.left) late.push_back(static_cast<int>(member));
  }
  if (late.empty()) return;
  if (!group.fault)
    fail(group, fault_for_all(ErrorCode::timeout,
                              rank_list(late) + " did not come to agree() or shrink() within " +
                                  seconds(milliseconds),
                              "find out what " + rank_list(late) + " did instead",
                              group.members.size(), late.front()));
  for (const int member : late) {
    Member& each = group.members[static_cast<std::size_t>(member)];
    each.left = each.late = true;
  }
  check_exchange(group);
}

}  // namespace rondo::control
