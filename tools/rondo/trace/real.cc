#include "tools/rondo/trace/real.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "algorithms/table.h"
#include "core/schedule/collective.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/trace/findings.h"

namespace rondo::tool {
namespace {

constexpr int most_told_ranks = 64;

using Connection = std::tuple<int, int, int>;  ///< from, to, lane

/// The schedule that a call followed, or whose result its direct path gives.
std::optional<Schedule> followed(const TracedCall& call) {
  if (call.from >= 0 || !call.complete() || call.plan->ranks > most_told_ranks) return std::nullopt;
  if (!call.direct) return schedule_of(*call.plan);
  const bool twice = call.mode == "two_shot" || call.mode == "push";
  for (const char* name : {twice ? "two_shot" : "one_shot", "one_shot", "linear"})
    if (const Algorithm* row = find_algorithm(call.plan->collective, name))
      return row->build(call.plan->ranks, call.plan->root);
  return std::nullopt;
}

/// Joins the slices of each message, by connection and number.
std::map<Connection, std::vector<RealMessage>> whole_messages(const TracedCall& call) {
  std::map<Connection, std::vector<RealMessage>> whole;
  for (const TracedMessage& slice : call.messages) {
    auto& messages = whole[{slice.from, slice.to, slice.lane}];
    const auto number = static_cast<std::size_t>(slice.number);
    if (messages.size() <= number) messages.resize(number + 1);
    RealMessage& message = messages[number];
    const std::int64_t begin = slice.begin - call.begin;
    message.begin = message.there ? std::min(message.begin, begin) : begin;
    message.end = std::max(message.end, slice.received - call.begin);
    message.settled = std::max(message.settled, slice.settled - call.begin);
    message.there = true;
  }
  return whole;
}

const Work* work_of(const TracedCall& call, int rank, Work::Kind kind) {
  for (const Work& work : call.ranks[static_cast<std::size_t>(rank)].work)
    if (work.kind == kind) return &work;
  return nullptr;
}

/// A push has one round, in which inputs are read and results written at once. Its middle stands
/// for the change from reading to writing.
RealMessage direct_message(const TracedCall& call, const ExplainedMessage& message, bool second) {
  const Work* const post = work_of(call, message.from, Work::Kind::post);
  const Work* const from_last = work_of(call, message.from, Work::Kind::last_round);
  const Work* const to_last = work_of(call, message.to, Work::Kind::last_round);
  const Work* const from_first = work_of(call, message.from, Work::Kind::first_round);
  const Work* const to_first = work_of(call, message.to, Work::Kind::first_round);
  if (post == nullptr || from_last == nullptr || to_last == nullptr) return {};
  const auto middle = [](const Work& work) { return (work.begin + work.end) / 2; };
  const bool two_rounds = from_first != nullptr && to_first != nullptr;
  RealMessage real{.there = true};
  if (call.mode == "push") {
    real.begin = second ? middle(*from_last) : post->end;
    real.end = second ? from_last->end : to_last->begin;
    real.settled = second ? from_last->end : middle(*to_last);
  } else if (second && two_rounds) {
    real = {true, from_first->end, to_last->begin, to_last->end};
  } else {
    const Work& round = two_rounds ? *to_first : *to_last;
    real = {true, post->end, round.begin, round.end};
  }
  for (std::int64_t* time : {&real.begin, &real.end, &real.settled}) *time -= call.begin;
  return real;
}

/// Clocks are compared only approximately, so an end could come before its begin.
RealMessage in_order(RealMessage message) {
  message.begin = std::max<std::int64_t>(message.begin, 0);
  message.end = std::max(message.end, message.begin + 1);
  message.settled = std::max(message.settled, message.end);
  return message;
}

}  // namespace

RealRun real_run(const TracedCall& call) {
  std::optional<Schedule> schedule = followed(call);
  if (!schedule)
    reject("call " + std::to_string(call.number) + " (" + call_name(call) + ", " + way_name(call) +
               ") cannot be shown round by round",
           "--call N, a complete collective of up to " + std::to_string(most_told_ranks) +
               " ranks that follows a schedule; `rondo trace` lists the calls");
  RealRun real{.schedule = *schedule};
  ExplainOptions options;
  if (!is_token(schedule->collective))
    options.sizes = {.count = static_cast<std::size_t>(call.form.count), .type = call.form.type};
  real.explanation = explain(*schedule, options);
  const auto whole = whole_messages(call);
  std::map<Connection, std::size_t> next;
  for (const ExplainedRound& round : real.explanation.rounds) {
    std::vector<RealMessage>& row = real.messages.emplace_back();
    const bool second = round.phase > 0;
    for (const ExplainedMessage& message : round.messages) {
      const Connection connection{message.from, message.to, message.lane};
      const std::size_t number = next[connection]++;
      const auto found = whole.find(connection);
      RealMessage moved;
      if (call.direct)
        moved = direct_message(call, message, second);
      else if (found != whole.end() && number < found->second.size())
        moved = found->second[number];
      row.push_back(moved.there ? in_order(moved) : moved);
    }
  }
  return real;
}

const TracedCall& slowest_playable(const Timeline& timeline) {
  const TracedCall* slowest = nullptr;
  for (const TracedCall& call : timeline.calls)
    // The schedule is built only to see whether it can be. That comes last, since it takes long.
    if ((slowest == nullptr || slowest->took() < call.took()) && followed(call)) slowest = &call;
  if (slowest == nullptr)
    reject("none of the " + std::to_string(timeline.calls.size()) +
               " calls can be shown round by round",
           "traces of all ranks, and collectives that follow a schedule");
  return *slowest;
}

}  // namespace rondo::tool
