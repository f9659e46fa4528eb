// The coordinator's part at a communicator's end: do ranks disagree about calls in which no rank
// waited?
#include <algorithm>
#include <limits>
#include <utility>

#include "core/control/coordinator.h"

namespace rondo::control {

void Coordinator::on(int from, const Compare& message) {
  const auto [group, self] = sender_of(message.communicator, from);
  if (group == nullptr || group->fault) return;
  group->members[self].compares = true;
  take_report(*group, self, message.report);
  if (group->members[self].compares) ask_for_comparison(*group, message.report);
}

/// Keeps it, and fails the group where another rank has told of another call.
void Coordinator::take_report(Group& group, std::size_t member, const CallReport& report) {
  group.members[member].last = report;
  group.members[member].asked = 0;
  if (group.fault) return;
  if (!differs(group, member)) return answer_comparisons(group);
  std::vector<RankReport> rank_reports;
  for (std::size_t i = 0; i < group.members.size(); ++i)
    rank_reports.push_back(rank_report(group, i));
  if (auto fault = find_disagreement(report.calls.front().sequence, report.begun, rank_reports))
    fail(group, *std::move(fault));
}

/// Earlier reports have been compared with each other: one rank that made the call speaks for all.
bool Coordinator::differs(const Group& group, std::size_t member) {
  return std::ranges::any_of(group.members[member].last.calls, [&](const Call& call) {
    for (std::size_t other = 0; other < group.members.size(); ++other) {
      const Call* const same = group.members[other].last.find(call.sequence);
      if (other != member && same != nullptr) return !(*same == call);
    }
    return false;
  });
}

/// Asks the ranks that have not reported as many calls yet, unless a question to them is open.
void Coordinator::ask_for_comparison(Group& group, const CallReport& report) {
  if (report.calls.empty()) return;
  const Message query(Query{
      .communicator = group.number, .from = report.calls.front().sequence, .to = report.begun});
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    Member& other = group.members[member];
    if (!other.opened || other.left) continue;
    if (std::max(other.asked, other.last.begun) >= report.begun) continue;
    other.asked = report.begun;
    send(group, member, query);
  }
}

void Coordinator::answer_comparisons(Group& group) {
  auto begun_by_all = std::numeric_limits<std::uint64_t>::max();
  for (const Member& member : group.members) {
    if (!member.left) begun_by_all = std::min(begun_by_all, member.last.begun);
  }
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    Member& waiting = group.members[member];
    if (!waiting.compares || waiting.last.begun > begun_by_all) continue;
    waiting.compares = false;
    send(group, member, Alike{.communicator = group.number});
  }
}

}  // namespace rondo::control
