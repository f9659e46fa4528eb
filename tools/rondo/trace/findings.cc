#include "tools/rondo/trace/findings.h"

#include <algorithm>

#include "algorithms/table.h"
#include "core/schedule/op.h"

namespace rondo::tool {
namespace {

void add_arrivals(const TracedCall& call, Findings& findings) {
  int last = -1;
  std::int64_t latest = 0;
  for (std::size_t rank = 0; rank < call.ranks.size(); ++rank) {
    const RankCall& each = call.ranks[rank];
    if (!each.there || (last >= 0 && each.begin <= latest)) continue;
    last = static_cast<int>(rank);
    latest = each.begin;
  }
  if (last < 0) return;
  ++findings.ranks[static_cast<std::size_t>(last)].last;
  findings.arrivals += latest - call.begin;
}

void add_ranks(const TracedCall& call, Findings& findings) {
  for (std::size_t rank = 0; rank < call.ranks.size(); ++rank) {
    const RankCall& each = call.ranks[rank];
    if (!each.there) continue;
    RankFindings& own = findings.ranks[rank];
    own.inside += each.end - each.begin;
    own.waited += each.waited();
    for (const Work& work : each.work) {
      if (work.late < 0) continue;
      own.excused += work.late_for;
      findings.ranks[static_cast<std::size_t>(work.late)].delayed += work.late_for;
    }
  }
}

using Rounds = std::map<std::string, std::vector<std::int64_t>>;  ///< time by rank

}  // namespace

std::optional<Schedule> schedule_of(const TracedPlan& plan) {
  const Algorithm* const row = find_algorithm(plan.collective, plan.algorithm);
  if (row == nullptr || plan.root < 0 || plan.collective == Collective::send_recv)
    return std::nullopt;
  return row->build(plan.ranks, plan.root);
}

std::string WorkNames::of(const TracedCall& call, const Work& work) {
  switch (work.kind) {
    case Work::Kind::post:
      return "coming";
    case Work::Kind::first_round:
      return "first round";
    case Work::Kind::last_round:
      return call.mode == "two_shot" ? "second round" : "only round";
    case Work::Kind::leave:
      return "leaving";
    case Work::Kind::op:
      break;
  }
  if (call.from >= 0) return "message";
  auto at = schedules_.find(call.plan);
  if (at == schedules_.end()) at = schedules_.emplace(call.plan, schedule_of(*call.plan)).first;
  if (!at->second || work.phase >= static_cast<int>(at->second->phases.size()))
    return "round " + std::to_string(work.round + 1);
  return phase_text(*at->second, work.phase, static_cast<std::uint32_t>(work.round));
}

Findings find(const std::vector<const TracedCall*>& calls, std::size_t ranks, WorkNames& names) {
  Findings findings;
  findings.ranks.resize(ranks);
  std::map<std::pair<int, int>, LinkFindings> links;
  Rounds rounds;
  std::vector<std::string> order;
  for (const TracedCall* call : calls) {
    add_arrivals(*call, findings);
    add_ranks(*call, findings);
    for (const TracedMessage& message : call->messages) {
      LinkFindings& link = links[{message.from, message.to}];
      link.from = message.from;
      link.to = message.to;
      ++link.messages;
      link.bytes += message.bytes;
      const std::int64_t since = std::max(message.begin, message.wanted);
      link.carried += std::max<std::int64_t>(0, message.settled - since);
    }
    for (std::size_t rank = 0; rank < call->ranks.size(); ++rank)
      for (const Work& work : call->ranks[rank].work) {
        const std::string name = call_name(*call) + ", " + names.of(*call, work);
        const auto [at, is_new] = rounds.try_emplace(name, ranks);
        if (is_new) order.push_back(name);
        at->second[rank] += work.end - work.waits;
      }
  }
  for (const auto& [pair, link] : links) findings.links.push_back(link);
  for (const std::string& name : order) {
    const std::vector<std::int64_t>& times = rounds[name];
    const auto most = std::max_element(times.begin(), times.end());
    findings.rounds.push_back({name, *most, static_cast<int>(most - times.begin())});
  }
  return findings;
}

int Findings::slowest_rank() const {
  const auto most = std::max_element(
      ranks.begin(), ranks.end(),
      [](const RankFindings& a, const RankFindings& b) { return a.delayed < b.delayed; });
  return most == ranks.end() || most->delayed == 0 ? -1 : static_cast<int>(most - ranks.begin());
}

const LinkFindings* Findings::slowest_link() const {
  const auto mean = [](const LinkFindings& link) {
    return static_cast<double>(link.carried) / static_cast<double>(link.messages);
  };
  const auto most = std::max_element(
      links.begin(), links.end(),
      [&](const LinkFindings& a, const LinkFindings& b) { return mean(a) < mean(b); });
  return most == links.end() ? nullptr : &*most;
}

const RoundFindings* Findings::slowest_round() const {
  const auto most = std::max_element(
      rounds.begin(), rounds.end(),
      [](const RoundFindings& a, const RoundFindings& b) { return a.took < b.took; });
  return most == rounds.end() ? nullptr : &*most;
}

}  // namespace rondo::tool
