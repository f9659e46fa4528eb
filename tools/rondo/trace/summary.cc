#include "tools/rondo/trace/summary.h"

#include <algorithm>
#include <array>
#include <map>

#include "tools/rondo/format.h"
#include "tools/rondo/trace/findings.h"
#include "tools/rondo/trace/gpu_calls.h"

namespace rondo::tool {
namespace {

std::string share(std::int64_t part, std::int64_t whole) {
  return format("%.0f %%",
                whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
}

std::vector<const TracedCall*> ended_calls(const Timeline& timeline) {
  std::vector<const TracedCall*> calls;
  for (const TracedCall& call : timeline.calls)
    if (timeline.ended(call)) calls.push_back(&call);
  return calls;
}

std::string clocks_text(const Timeline& timeline) {
  std::string text;
  for (std::size_t rank = 0; rank < timeline.clocks.size(); ++rank) {
    const RankClock& clock = timeline.clocks[rank];
    if (clock.same || clock.offsets.empty()) continue;
    const trace::Offset& first = clock.offsets.front();
    text += "  rank " + std::to_string(rank) + ": " + microseconds(first.ahead) +
            " us ahead of rank 0's, at most " + microseconds(first.uncertainty) + " us off";
    if (clock.offsets.size() > 1)
      text += "; at the end " + microseconds(clock.offsets.back().ahead) + ", at most " +
              microseconds(clock.offsets.back().uncertainty) + " off";
    text += "\n";
  }
  return text.empty() ? "Clocks: one, all ranks ran on one machine.\n" : "Clocks:\n" + text;
}

/// One row for each collective, size and path.
std::string calls_table(const Timeline& timeline) {
  struct Kind {
    std::vector<std::int64_t> times{};
    std::int64_t inside = 0;
    std::int64_t waited = 0;
    const TracedCall* slowest = nullptr;
  };
  std::map<std::array<std::string, 3>, Kind> kinds;
  std::vector<std::array<std::string, 3>> order;
  for (const TracedCall& call : timeline.calls) {
    const std::array<std::string, 3> key{
        call_name(call), bytes_text(static_cast<double>(call.bytes())), way_name(call)};
    const auto [at, is_new] = kinds.try_emplace(key);
    if (is_new) order.push_back(key);
    Kind& kind = at->second;
    kind.times.push_back(call.took());
    for (const RankCall& rank : call.ranks) {
      if (!rank.there) continue;
      kind.inside += rank.end - rank.begin;
      kind.waited += rank.waited();
    }
    if (kind.slowest == nullptr || kind.slowest->took() < call.took()) kind.slowest = &call;
  }
  Table table(3);
  table.row({"call", "size", "path", "count", "median us", "slowest us", "is call", "waiting"});
  for (const auto& key : order) {
    Kind& kind = kinds[key];
    std::sort(kind.times.begin(), kind.times.end());
    table.row({key[0], key[1], key[2], std::to_string(kind.times.size()),
               microseconds(kind.times[kind.times.size() / 2]), microseconds(kind.times.back()),
               std::to_string(kind.slowest->number), share(kind.waited, kind.inside)});
  }
  return table.text();
}

std::string ranks_table(const Timeline& timeline, const Findings& findings) {
  Table table(1);
  table.row(
      {"rank", "in calls us", "waiting us", "for others us", "delayed others us", "came last"});
  for (std::size_t rank = 0; rank < findings.ranks.size(); ++rank) {
    const RankFindings& each = findings.ranks[rank];
    if (!timeline.tells(static_cast<int>(rank))) {
      table.row({std::to_string(rank), "no trace", "-", "-", "-", "-"});
      continue;
    }
    table.row({std::to_string(rank), microseconds(each.inside), microseconds(each.waited),
               microseconds(each.excused), microseconds(each.delayed), std::to_string(each.last)});
  }
  return table.text();
}

std::string slowest_text(const Findings& findings) {
  std::string text;
  const int rank = findings.slowest_rank();
  if (rank < 0) {
    text += "Slowest rank: none, no rank waited for another.\n";
  } else {
    std::int64_t all = 0;
    for (const RankFindings& each : findings.ranks) all += each.delayed;
    const std::int64_t own = findings.ranks[static_cast<std::size_t>(rank)].delayed;
    text += "Slowest rank: " + std::to_string(rank) + ", for which others waited " +
            microseconds(own) + " us, " + share(own, all) + " of all waiting for late ranks.\n";
  }
  if (const LinkFindings* link = findings.slowest_link()) {
    const auto messages = static_cast<std::int64_t>(link->messages);
    text += "Slowest link: " + std::to_string(link->from) + " to " + std::to_string(link->to) +
            ", " + microseconds(link->carried / messages) +
            " us for each message that a rank waited for (" + counted(messages, "message") + ", " +
            bytes_text(static_cast<double>(link->bytes)) + ").\n";
  }
  if (const RoundFindings* round = findings.slowest_round())
    text += "Slowest round: " + round->name + ", " + microseconds(round->took) + " us on rank " +
            std::to_string(round->rank) + ".\n";
  return text;
}

std::string notes_text(const Timeline& timeline) {
  if (timeline.notes.empty()) return {};
  std::string text = "\nThe traces are incomplete:\n";
  for (const std::string& note : timeline.notes) text += "  " + note + "\n";
  return text;
}

/// The ranks that it waited for, with microseconds: "1 12.0, 3 4.5".
std::string for_whom(const RankCall& rank, std::size_t ranks) {
  std::string words;
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    const std::int64_t late = rank.late_for(static_cast<int>(peer));
    if (late == 0) continue;
    words += (words.empty() ? "" : ", ") + std::to_string(peer) + ": " + microseconds(late);
  }
  return words.empty() ? "-" : words;
}

}  // namespace

std::string call_text(const TracedCall& call) {
  std::string text = "Call " + std::to_string(call.number) + ": " + call_name(call) + " #" +
                     std::to_string(call.sequence) + ", " + std::to_string(call.form.count) +
                     " x " + std::string(name(call.form.type)) + ", " + way_name(call) + ", " +
                     microseconds(call.took()) + " us, begun at " + microseconds(call.begin) +
                     " us" + (call.complete() ? "" : " (not complete)") + "\n";
  Table table(1);
  table.row({"rank", "came us", "left us", "worked us", "waited us", "for late ranks us"});
  for (std::size_t rank = 0; rank < call.ranks.size(); ++rank) {
    const RankCall& each = call.ranks[rank];
    if (!each.there) continue;
    std::int64_t worked = 0;
    for (const Work& work : each.work) worked += work.end - work.begin;
    table.row({std::to_string(rank), microseconds(each.begin - call.begin),
               each.ended ? microseconds(each.end - call.begin) : "-", microseconds(worked),
               microseconds(each.waited()), for_whom(each, call.ranks.size())});
  }
  WorkNames names;
  return text + table.text() + slowest_text(find({&call}, call.ranks.size(), names));
}

std::string summary_text(const Timeline& timeline) {
  const auto calls = ended_calls(timeline);
  std::int64_t end = 0;
  for (const TracedCall& call : timeline.calls) end = std::max(end, call.end);
  std::string over;
  for (const TraceFile& file : timeline.files)
    if (over.empty()) over = file.over;
  std::string text = std::to_string(timeline.ranks) + " ranks over " +
                     (over.empty() ? "nothing" : over) + ", " +
                     counted(timeline.calls.size(), "call") + " in " + microseconds(end) + " us\n" +
                     clocks_text(timeline) + notes_text(timeline) + gpu_calls_text(timeline);
  if (timeline.calls.empty()) return text;
  text += "\n" + calls_table(timeline);
  if (!calls.empty()) {
    WorkNames names;
    const Findings findings = find(calls, static_cast<std::size_t>(timeline.ranks), names);
    text += "\n" + ranks_table(timeline, findings) + "\n" + slowest_text(findings);
    text += "On average, the last rank came " +
            microseconds(findings.arrivals / static_cast<std::int64_t>(calls.size())) +
            " us after the first.\n";
  }
  return text + "\n" + call_text(timeline.slowest());
}

}  // namespace rondo::tool
