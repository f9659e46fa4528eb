#include "core/control/coordinator.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace rondo::control {
namespace {

Fault fault_of(ErrorCode code, std::string message, std::string remedy, std::size_t ranks,
               int peer = -1) {
  Fault fault{.code = code, .message = std::move(message), .remedy = std::move(remedy)};
  fault.peer.assign(ranks, peer);
  fault.call.assign(ranks, "");
  return fault;
}

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

void Coordinator::died(int world_rank, Clock::time_point now) {
  now_ = now;
  gone(world_rank, Fate::dead);
}

void Coordinator::tell_of_departed() {
  for (auto& [number, line] : lines_) {
    if (line.fault || fail_for_loss(number, line)) continue;
    Departed departed{.line = number};
    for (std::size_t member = 0; member < line.members.size(); ++member) {
      const Member& left = line.members[member];
      if (!left.left) continue;
      departed.ranks.push_back(static_cast<std::int32_t>(member));
      if (departed.first >= 0 && left.last.begun >= departed.report.begun) continue;
      departed.first = static_cast<std::int32_t>(member);
      departed.report = newest_of(left.last);
    }
    if (departed.first < 0) continue;
    for (std::size_t member = 0; member < line.members.size(); ++member) {
      if (!line.members[member].left) send(line, member, departed);
    }
  }
}

std::optional<Coordinator::Clock::time_point> Coordinator::next_tick() const {
  std::optional<Clock::time_point> next;
  const auto at = [&](Clock::time_point deadline) {
    if (!next || deadline < *next) next = deadline;
  };
  for (const auto& [number, line] : lines_) {
    if (line.diagnosis) at(line.diagnosis->deadline);
    if (line.loss) at(line.loss->deadline);
  }
  return next;
}

void Coordinator::tick(Clock::time_point now) {
  now_ = now;
  for (auto& [number, line] : lines_) {
    check_diagnosis(number, line);
    if (line.loss && now_ >= line.loss->deadline) fail_for_loss(number, line);
  }
}

void Coordinator::on(int from, const Open& message) {
  const auto in_world = [&](int rank) {
    return rank >= 0 && rank < static_cast<int>(hosts_.size());
  };
  if (!std::all_of(message.members.begin(), message.members.end(), in_world)) return;
  Line& line = lines_[message.line];
  if (line.members.empty()) {
    for (const int rank : message.members) line.members.push_back({.world_rank = rank});
  }
  const int self = member_of(line, from);
  if (self < 0) return;
  line.members[static_cast<std::size_t>(self)].opened = true;
  const bool same = std::equal(
      line.members.begin(), line.members.end(), message.members.begin(), message.members.end(),
      [](const Member& member, int world_rank) { return member.world_rank == world_rank; });
  if (line.fault) {
    send_failure(message.line, line, static_cast<std::size_t>(self));
  } else if (!same) {
    fail(message.line, line,
         fault_of(ErrorCode::mismatch,
                  "rank " + std::to_string(self) + " lists other members of this communicator",
                  "pass the same ranks, colors and keys on every rank", line.members.size(), self));
  }
  for (std::size_t member = 0; member < line.members.size() && !line.fault; ++member) {
    const auto fate = fates_[static_cast<std::size_t>(line.members[member].world_rank)];
    if (fate != Fate::present && !line.members[member].left) {
      fail_for_gone(message.line, line, member);
    }
  }
}

void Coordinator::on(int from, const Blob& message) {
  Line* const line = find(message.line);
  if (line == nullptr || line->fault) return;
  const int self = member_of(*line, from);
  if (self < 0) return;
  line->members[static_cast<std::size_t>(self)].blob = message.bytes;
  if (fail_for_loss(message.line, *line)) return;
  check_exchange(message.line, *line);
}

void Coordinator::check_exchange(std::uint64_t number, Line& line) {
  const bool complete = std::all_of(line.members.begin(), line.members.end(),
                                    [](const Member& member) { return member.blob.has_value(); });
  if (!complete) return fail_for_absent(number, line);
  Blobs all{.line = number};
  for (auto& member : line.members) {
    all.bytes.push_back(std::move(*member.blob));
    member.blob.reset();
  }
  const Message message(std::move(all));
  for (std::size_t member = 0; member < line.members.size(); ++member) send(line, member, message);
}

/// A member that has left will not bring what the others wait for.
void Coordinator::fail_for_absent(std::uint64_t number, Line& line) {
  const auto waits = std::find_if(line.members.begin(), line.members.end(),
                                  [](const Member& member) { return member.blob.has_value(); });
  const auto absent =
      std::find_if(line.members.begin(), line.members.end(),
                   [](const Member& member) { return member.left && !member.blob; });
  if (line.fault || waits == line.members.end() || absent == line.members.end()) return;
  const auto self = static_cast<std::size_t>(absent - line.members.begin());
  fail(number, line,
       fault_of(ErrorCode::mismatch,
                describe_member(line, self) + " has left the communicator, but rank " +
                    std::to_string(waits - line.members.begin()) +
                    " waits for it to make another one",
                "call split() and dup() on every rank before it finalizes", line.members.size(),
                static_cast<int>(self)));
}

void Coordinator::on(int from, const ExchangeExpired& message) {
  Line* const line = find(message.line);
  if (line == nullptr || line->fault) return;
  const int self = member_of(*line, from);
  // The blobs went out in the meantime: nothing has expired.
  if (self < 0 || !line->members[static_cast<std::size_t>(self)].blob) return;
  std::vector<int> missing;
  for (std::size_t member = 0; member < line->members.size(); ++member) {
    if (!line->members[member].blob) missing.push_back(static_cast<int>(member));
  }
  const auto first = static_cast<std::size_t>(missing.front());
  std::string text = rank_list(missing) + " did not take part in making the communicator within " +
                     seconds(message.milliseconds);
  if (missing.size() == 1) text += ": " + describe_member(*line, first);
  fail(message.line, *line,
       fault_of(ErrorCode::bootstrap, std::move(text),
                "make the communicator on every rank, or raise RONDO_BOOTSTRAP_TIMEOUT",
                line->members.size(), missing.front()));
}

void Coordinator::on(int from, const Stall& message) {
  Line* const line = find(message.line);
  if (line == nullptr || line->fault) return;
  const int self = member_of(*line, from);
  if (self < 0 || message.peer >= static_cast<int>(line->members.size())) return;
  if (message.mismatch != 0 && message.peer < 0) return;
  if (fail_for_loss(message.line, *line)) return;
  if (!line->diagnosis) {
    begin_diagnosis(message.line, *line, self, message);
  } else if (!line->next || weight(message) > weight(line->next->second)) {
    line->next = {self, message};
  }
}

void Coordinator::begin_diagnosis(std::uint64_t number, Line& line, int reporter,
                                  const Stall& stall) {
  line.diagnosis = Diagnosis{.number = ++diagnoses_,
                             .reporter = reporter,
                             .stall = stall,
                             .answers = {},
                             .deadline = now_ + patience};
  line.diagnosis->answers.resize(line.members.size());
  const Message query(
      Query{.line = number, .diagnosis = diagnoses_, .from = first_asked(stall), .to = stall.to});
  for (std::size_t member = 0; member < line.members.size(); ++member) {
    if (line.members[member].opened && !line.members[member].left) send(line, member, query);
  }
  check_diagnosis(number, line);
}

void Coordinator::on(int from, const Answer& message) {
  Line* const line = find(message.line);
  const int self = line == nullptr ? -1 : member_of(*line, from);
  if (self < 0) return;
  if (message.diagnosis == 0) {
    return take_report(message.line, *line, static_cast<std::size_t>(self), message.report);
  }
  if (!line->diagnosis || line->diagnosis->number != message.diagnosis) return;
  line->diagnosis->answers[static_cast<std::size_t>(self)] = message.report;
  check_diagnosis(message.line, *line);
}

/// Ends the diagnosis when every rank has answered or its time is up.
void Coordinator::check_diagnosis(std::uint64_t number, Line& line) {
  if (!line.diagnosis) return;
  const Diagnosis& diagnosis = *line.diagnosis;
  std::vector<RankReport> rank_reports;
  bool complete = true;
  for (std::size_t member = 0; member < line.members.size(); ++member) {
    auto& last = rank_reports.emplace_back(rank_report(line, member));
    if (last.left || !last.opened) continue;
    last.answered = diagnosis.answers[member].has_value();
    if (last.answered) last.report = *diagnosis.answers[member];
    complete = complete && last.answered;
  }
  if (!complete && now_ < diagnosis.deadline) return;
  auto verdict = analyze(diagnosis.reporter, diagnosis.stall, rank_reports);
  const auto reporter = static_cast<std::size_t>(diagnosis.reporter);
  line.diagnosis.reset();
  const auto next = std::exchange(line.next, std::nullopt);
  if (verdict.fault) {
    fail(number, line, *std::move(verdict.fault));
  } else {
    std::string& noted = line.members[reporter].noted;
    if (!verdict.note.empty() && verdict.note != noted) {
      noted = verdict.note;
      send(line, reporter, Note{.line = number, .text = std::move(verdict.note)});
    }
    if (next) begin_diagnosis(number, line, next->first, next->second);
  }
}

void Coordinator::on(int from, const Leave& message) {
  Line* const line = find(message.line);
  const int self = line == nullptr ? -1 : member_of(*line, from);
  if (self < 0) return;
  auto& member = line->members[static_cast<std::size_t>(self)];
  member.opened = true;
  member.left = true;
  member.compares = false;
  take_report(message.line, *line, static_cast<std::size_t>(self), message.report);
  check_diagnosis(message.line, *line);
  fail_for_absent(message.line, *line);
  erase_if_left(message.line);
}

void Coordinator::on(int from, const Failure& message) {
  Line* const line = find(message.line);
  if (line == nullptr || line->fault) return;
  const int self = member_of(*line, from);
  if (self < 0) return;
  const int peer = message.peer >= 0 ? message.peer : self;
  auto fault = fault_of(static_cast<ErrorCode>(message.code),
                        "rank " + std::to_string(self) + " reports: " + message.message,
                        message.remedy, line->members.size(), peer);
  fault.call.assign(line->members.size(), message.call);
  if (peer < static_cast<int>(line->members.size()))
    fault.peer[static_cast<std::size_t>(peer)] = self;  // not itself
  fail(message.line, *line, std::move(fault), self);
}

void Coordinator::gone(int world_rank, Fate fate) {
  auto& known = fates_[static_cast<std::size_t>(world_rank)];
  if (known != Fate::present) return;
  known = fate;
  std::vector<std::uint64_t> numbers;
  for (auto& [number, line] : lines_) {
    const int self = member_of(line, world_rank);
    if (self < 0) continue;
    auto& member = line.members[static_cast<std::size_t>(self)];
    const bool missed = !member.left && !line.fault;
    member.left = true;
    if (missed && fate == Fate::dead) lose(number, line, static_cast<std::size_t>(self));
    if (missed && fate == Fate::departed)
      fail_for_gone(number, line, static_cast<std::size_t>(self));
    if (!line.fault) answer_comparisons(number, line);
    numbers.push_back(number);
  }
  for (const auto number : numbers) erase_if_left(number);
}

/// Notifies the members at once if one of them is known to wait.
void Coordinator::lose(std::uint64_t number, Line& line, std::size_t member) {
  const bool awaited = line.diagnosis || std::ranges::any_of(line.members, [](const Member& other) {
                         return other.blob.has_value();
                       });
  if (!line.loss) line.loss = Loss{.member = member, .deadline = now_ + grace};
  if (awaited) fail_for_loss(number, line);
}

/// True where there was one: the line has failed.
bool Coordinator::fail_for_loss(std::uint64_t number, Line& line) {
  if (!line.loss) return false;
  fail_for_gone(number, line, line.loss->member);
  return true;
}

void Coordinator::fail_for_gone(std::uint64_t number, Line& line, std::size_t member) {
  const bool dead = fates_[static_cast<std::size_t>(line.members[member].world_rank)] == Fate::dead;
  fail(
      number, line,
      fault_of(
          ErrorCode::peer_lost,
          describe_member(line, member) +
              (dead ? " ended, died or was killed" : " has left the job"),
          dead ? "look at the end of its output, or the kernel's log, for why; a rank that ends in "
                 "order destroys its communicators first"
               : "",
          line.members.size(), static_cast<int>(member)));
}

void Coordinator::fail(std::uint64_t number, Line& line, Fault fault, int origin) {
  line.fault = std::move(fault);
  line.origin = origin;
  line.loss.reset();
  line.diagnosis.reset();
  line.next.reset();
  for (std::size_t member = 0; member < line.members.size(); ++member) {
    if (static_cast<int>(member) != origin && line.members[member].opened) {
      send_failure(number, line, member);
    }
  }
}

void Coordinator::send_failure(std::uint64_t number, const Line& line, std::size_t member) const {
  send(line, member,
       Failure{.line = number,
               .code = static_cast<std::uint8_t>(line.fault->code),
               .peer = line.fault->peer[member],
               .message = line.fault->message,
               .call = line.fault->call[member],
               .remedy = line.fault->remedy});
}

Coordinator::Line* Coordinator::find(std::uint64_t number) {
  const auto found = lines_.find(number);
  return found == lines_.end() ? nullptr : &found->second;
}

int Coordinator::member_of(const Line& line, int world_rank) {
  const auto found =
      std::find_if(line.members.begin(), line.members.end(),
                   [&](const Member& member) { return member.world_rank == world_rank; });
  return found == line.members.end() ? -1 : static_cast<int>(found - line.members.begin());
}

RankReport Coordinator::rank_report(const Line& line, std::size_t member) const {
  const Member& found = line.members[member];
  return {.host = hosts_[static_cast<std::size_t>(found.world_rank)],
          .world_rank = found.world_rank,
          .opened = found.opened,
          .left = found.left,
          .answered = true,
          .report = found.last};
}

std::string Coordinator::describe_member(const Line& line, std::size_t member) const {
  return describe(static_cast<int>(member), rank_report(line, member));
}

void Coordinator::send(const Line& line, std::size_t member, const Message& message) const {
  const int world_rank = line.members[member].world_rank;
  if (fates_[static_cast<std::size_t>(world_rank)] != Fate::present) return;
  deliver_(world_rank, message);
}

void Coordinator::erase_if_left(std::uint64_t number) {
  const Line* const line = find(number);
  if (line != nullptr && std::all_of(line->members.begin(), line->members.end(),
                                     [](const Member& member) { return member.left; })) {
    lines_.erase(number);
  }
}

}  // namespace rondo::control
