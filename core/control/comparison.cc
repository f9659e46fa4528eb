// The coordinator's part at a communicator's end: do ranks disagree about calls in which no rank
// waited?
#include <algorithm>
#include <limits>
#include <utility>

#include "core/control/coordinator.h"

namespace rondo::control {

void Coordinator::on(int from, const Compare& message) {
  Line* const line = find(message.line);
  const int self = line == nullptr || line->fault ? -1 : member_of(*line, from);
  if (self < 0) return;
  const auto member = static_cast<std::size_t>(self);
  line->members[member].compares = true;
  take_report(message.line, *line, member, message.report);
  if (line->members[member].compares) ask_for_comparison(message.line, *line, message.report);
}

/// Keeps it, and fails the line where another rank has told of another call.
void Coordinator::take_report(std::uint64_t number, Line& line, std::size_t member,
                              const CallReport& report) {
  line.members[member].last = report;
  line.members[member].asked = 0;
  if (line.fault) return;
  if (!differs(line, member)) return answer_comparisons(number, line);
  std::vector<RankReport> rank_reports;
  for (std::size_t i = 0; i < line.members.size(); ++i)
    rank_reports.push_back(rank_report(line, i));
  if (auto fault = find_disagreement(report.calls.front().sequence, report.begun, rank_reports))
    fail(number, line, *std::move(fault));
}

/// Earlier reports have been compared with each other: one rank that made the call speaks for all.
bool Coordinator::differs(const Line& line, std::size_t member) {
  return std::ranges::any_of(line.members[member].last.calls, [&](const Call& call) {
    for (std::size_t other = 0; other < line.members.size(); ++other) {
      const Call* const same = line.members[other].last.find(call.sequence);
      if (other != member && same != nullptr) return !(*same == call);
    }
    return false;
  });
}

/// Asks the ranks that have not reported as many calls yet, unless a question to them is open.
void Coordinator::ask_for_comparison(std::uint64_t number, Line& line, const CallReport& report) {
  if (report.calls.empty()) return;
  const Message query(
      Query{.line = number, .from = report.calls.front().sequence, .to = report.begun});
  for (std::size_t member = 0; member < line.members.size(); ++member) {
    Member& other = line.members[member];
    if (!other.opened || other.left) continue;
    if (std::max(other.asked, other.last.begun) >= report.begun) continue;
    other.asked = report.begun;
    send(line, member, query);
  }
}

void Coordinator::answer_comparisons(std::uint64_t number, Line& line) {
  auto begun_by_all = std::numeric_limits<std::uint64_t>::max();
  for (const Member& member : line.members) {
    if (!member.left) begun_by_all = std::min(begun_by_all, member.last.begun);
  }
  for (std::size_t member = 0; member < line.members.size(); ++member) {
    Member& waiting = line.members[member];
    if (!waiting.compares || waiting.last.begun > begun_by_all) continue;
    waiting.compares = false;
    send(line, member, Alike{.line = number});
  }
}

}  // namespace rondo::control
