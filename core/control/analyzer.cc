#include "core/control/analyzer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "core/base/config.h"
#include "core/base/text.h"

namespace rondo::control {
namespace {

using RankReports = std::vector<RankReport>;

constexpr std::uint64_t look_back = 32;

/// Ranks that made the same call, the call, in the order of their first ranks.
struct CallGroup {
  Call call;
  std::vector<int> ranks;
};

std::vector<CallGroup> groups_at(std::uint64_t sequence, const RankReports& rank_reports) {
  std::vector<CallGroup> groups;
  for (std::size_t rank = 0; rank < rank_reports.size(); ++rank) {
    const Call* call = rank_reports[rank].report.find(sequence);
    if (call == nullptr) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const CallGroup& other) { return other.call == *call; });
    if (group == groups.end()) group = groups.insert(groups.end(), CallGroup{*call, {}});
    group->ranks.push_back(static_cast<int>(rank));
  }
  return groups;
}

std::string sentence(const CallGroup& group) {
  return rank_list(group.ranks) + (group.ranks.size() == 1 ? " calls " : " call ") +
         to_string(group.call);
}

/// Whether the calls differ in this field alone.
template <class Field>
bool differ_only(Call a, const Call& b, Field Call::*field) {
  const bool differ = a.*field != b.*field;
  a.*field = b.*field;
  return differ && a == b;
}

Fault disagreement(const std::vector<CallGroup>& groups, std::size_t ranks) {
  auto fault = fault_for_all(
      ErrorCode::mismatch, sentence(groups[0]) + " but " + sentence(groups[1]),
      "make every rank call the same collective with the same count, type, operator and root, in "
      "the same order",
      ranks);
  // Which the words of the calls do not show.
  if (differ_only(groups[0].call, groups[1].call, &Call::blocks))
    fault.message += ": their lists of counts differ";
  if (differ_only(groups[0].call, groups[1].call, &Call::on_devices)) {
    fault.message += ": their buffers are in memory of different kinds";
    fault.remedy = "have the buffers of all ranks on GPUs, or one of each rank in host memory";
  }
  if (groups.size() > 2) {
    fault.message += " (further differing calls: " + std::to_string(groups.size() - 2) + ")";
  }
  // The error of a rank that has not come to the call yet names one that differs from the first.
  fault.peer.assign(ranks, groups[1].ranks.front());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const int rank : groups[i].ranks) {
      fault.peer[static_cast<std::size_t>(rank)] = groups[i == 0 ? 1 : 0].ranks.front();
      fault.call[static_cast<std::size_t>(rank)] = to_string(groups[i].call);
    }
  }
  return fault;
}

/// "its last call was barrier #2, complete".
std::string last_call(const CallReport& report) {
  if (report.begun == 0) return "it has made no call yet";
  const Call* call = report.find(report.begun);
  return "its last call was " +
         (call != nullptr ? to_string(*call) : "#" + std::to_string(report.begun)) +
         (report.completed >= report.begun ? ", complete" : ", not complete");
}

struct Scene {
  int reporter;
  const Stall& stall;
  const RankReports& rank_reports;
  bool pairwise;     ///< the reporter waits for one peer in a send or receive
  std::string what;  ///< the call, or the send or receive, that does not move
  /// Of a pairwise one: the peer, the rank that it waits for, and so on.
  std::vector<int> chain{};

  /// It waits in a replayed graph, which is in no log.
  bool replays() const { return !pairwise && !stall.what.empty(); }
  const RankReport& of(int rank) const { return rank_reports[static_cast<std::size_t>(rank)]; }
  bool waits_for_itself() const { return pairwise && stall.peer == reporter; }
  /// The chain comes back to one of its ranks, or to the reporter.
  bool is_circle() const {
    return chain.size() > 1 &&
           (chain.back() == reporter || std::ranges::count(chain, chain.back()) > 1);
  }
  /// Whom the others wait for in the end. -1: the stall is not pairwise.
  int end_of_chain() const {
    return chain.empty() ? -1 : is_circle() ? chain.front() : chain.back();
  }
  bool is_behind(int rank) const {
    if (rank == reporter) return false;
    if (pairwise) return rank == end_of_chain() || !of(rank).answered;
    return !of(rank).answered || of(rank).report.begun < stall.from;
  }
};

std::string what_stalls(int reporter, const Stall& stall, const RankReports& rank_reports) {
  if (!stall.what.empty()) return stall.what;
  const Call* call = rank_reports[static_cast<std::size_t>(reporter)].report.find(stall.from);
  return call != nullptr ? to_string(*call) : "call #" + std::to_string(stall.from);
}

/// The rank that `rank` waits for in a send or receive, if it is there to be waited for.
std::optional<int> next_in_chain(const Scene& scene, int rank) {
  const RankReport& report = scene.of(rank);
  if (!report.answered || report.left || !report.waits) return std::nullopt;
  if (report.report.completed < report.report.begun) return std::nullopt;  // it waits no more
  return scene.of(report.waits->peer).left ? std::nullopt : std::optional(report.waits->peer);
}

Scene scene_of(int reporter, const Stall& stall, const RankReports& rank_reports) {
  Scene scene{.reporter = reporter,
              .stall = stall,
              .rank_reports = rank_reports,
              .pairwise = !stall.what.empty() && stall.peer >= 0,
              .what = what_stalls(reporter, stall, rank_reports)};
  if (!scene.pairwise) return scene;
  scene.chain.push_back(stall.peer);
  while (stall.peer != reporter && !scene.is_circle()) {
    const auto next = next_in_chain(scene, scene.chain.back());
    if (!next) break;
    scene.chain.push_back(*next);
  }
  return scene;
}

/// What an awaited rank does instead, in words.
std::string excuse(const Scene& scene, int rank) {
  const RankReport& rank_report = scene.of(rank);
  if (!rank_report.opened) return "has not made the communicator yet";
  if (!rank_report.answered) {
    return "does not answer: its process is stopped or its machine cannot be reached";
  }
  const std::string text = (scene.pairwise ? "has not reached it; " : "has not entered it; ") +
                           last_call(rank_report.report);
  if (rank_report.report.completed < rank_report.report.begun) return text;
  if (!rank_report.waits)
    return text + "; it is computing, in a send or recv, or stuck outside rondo";
  return text + "; it waits in " + rank_report.waits->what + " for rank " +
         std::to_string(rank_report.waits->peer);
}

void set_peer_and_call(const Scene& scene, int peer, Fault& fault) {
  for (std::size_t rank = 0; rank < scene.rank_reports.size(); ++rank) {
    fault.peer[rank] = static_cast<int>(rank) == peer ? scene.reporter : peer;
    const Call* call = scene.rank_reports[rank].report.find(scene.stall.from);
    if (call != nullptr) fault.call[rank] = to_string(*call);
  }
  if (scene.pairwise) fault.call[static_cast<std::size_t>(scene.reporter)] = scene.what;
}

Fault never_comes(const Scene& scene, int rank) {
  const RankReport& rank_report = scene.of(rank);
  auto fault = fault_for_all(ErrorCode::mismatch,
                             describe(rank, rank_report) + " has left the communicator" + " (" +
                                 last_call(rank_report.report) + "), but rank " +
                                 std::to_string(scene.reporter) + " waits for it in " + scene.what,
                             "make every rank make the same calls before it finalizes",
                             scene.rank_reports.size());
  set_peer_and_call(scene, rank, fault);
  return fault;
}

std::string within(const Stall& stall) {
  return stall.milliseconds == 0 ? "before the deadline" : "within " + seconds(stall.milliseconds);
}

std::string remedy_for(const Scene& scene, const std::vector<int>& behind) {
  const std::string raise = words_of_raising_timeout(scene.stall.timeout_from_program != 0);
  const std::string longer = ", or " + raise + " if it only needs more time";
  if (scene.waits_for_itself()) return "start both sides before waiting for one";
  if (scene.is_circle())
    return "change the order of these sends and receives, or begin them in one group; if they "
           "match, look for a network that loses data";
  if (!behind.empty()) return "find out what " + rank_list(behind) + " did instead" + longer;
  if (scene.replays()) return "launch its graph equally often on every rank" + longer;
  return "look for a network that loses data, or " + raise + " if it is only slow";
}

/// "rank 2 (host x, pid 7)", then `between`, then what it does instead.
std::string with_excuse(const Scene& scene, int rank, const char* between) {
  return describe(rank, scene.of(rank)) + between + excuse(scene, rank);
}

/// Who waits for whom, from the awaited rank on, and what the last one does instead. Of a long chain,
/// its beginning and its end.
std::string chain_in_words(const Scene& scene, const char* between) {
  constexpr std::size_t most = 4;
  const auto& chain = scene.chain;
  std::string text = describe(chain[0], scene.of(chain[0]));
  for (std::size_t i = 1; i < chain.size(); ++i) {
    const bool skips = i == most - 1 && chain.size() > most;
    text += i == 1 ? between : ", which ";
    text += skips ? "waits, over " + std::to_string(chain.size() - most) + " more ranks, for "
                  : "waits in " + scene.of(chain[i - 1]).waits->what + " for ";
    if (skips) i = chain.size() - 1;
    text += describe(chain[i], scene.of(chain[i]));
  }
  if (scene.is_circle()) return text + ": they wait for each other";
  return text + (chain.size() == 1 ? between : ", which ") + excuse(scene, chain.back());
}

/// Who else is behind a send or receive: ranks that the chain's end may wait for.
std::string others_behind(const Scene& scene, std::vector<int> behind) {
  std::erase(behind, scene.end_of_chain());
  if (behind.empty()) return {};
  return "; " + rank_list(behind) + (behind.size() == 1 ? " does" : " do") + " not answer";
}

/// How the ranks that are behind explain it. There are some.
std::string reason(const Scene& scene, const std::vector<int>& behind) {
  const int first = behind[0];
  if (scene.pairwise) return chain_in_words(scene, " ") + others_behind(scene, behind);
  if (behind.size() == 1) return with_excuse(scene, first, " ");
  return rank_list(behind) +
         (scene.of(first).answered ? " have not entered it; first "
                                   : " do not answer or have not entered it; first ") +
         with_excuse(scene, first, ": ");
}

Fault too_late(const Scene& scene, const std::vector<int>& behind) {
  std::string message;
  if (scene.waits_for_itself()) {
    message = "a " + scene.what + " between rank " + std::to_string(scene.reporter) +
              " and itself did not complete " + within(scene.stall) +
              ": its other side was not called";
  } else if (behind.empty()) {
    message = scene.what + " did not complete " + within(scene.stall) +
              (scene.replays() ? "" : " although every rank has entered it");
  } else {
    message =
        scene.what + " did not complete " + within(scene.stall) + ": " + reason(scene, behind);
  }
  auto fault = fault_for_all(ErrorCode::timeout, std::move(message), remedy_for(scene, behind),
                             scene.rank_reports.size());
  set_peer_and_call(scene,
                    scene.waits_for_itself() ? scene.reporter
                    : behind.empty()         ? -1
                                             : behind[0],
                    fault);
  return fault;
}

Fault foreign_frame(const Scene& scene) {
  const int peer = scene.stall.peer;
  const RankReport& rank_report = scene.of(peer);
  auto fault = fault_for_all(
      ErrorCode::mismatch,
      "rank " + std::to_string(scene.reporter) + " is in " + scene.what +
          " but was sent data of another call by " + describe(peer, rank_report) + ", " +
          (rank_report.answered ? last_call(rank_report.report) : "which does not answer"),
      "make every rank call the same collective with the same count, type, operator and root, in "
      "the same order",
      scene.rank_reports.size());
  set_peer_and_call(scene, peer, fault);
  return fault;
}

std::string note(const Scene& scene, const std::vector<int>& behind) {
  if (behind.empty()) return {};
  std::string text = "in " + scene.what + ": waiting for ";
  if (scene.pairwise)
    return text + chain_in_words(scene, ", which ") + others_behind(scene, behind);
  if (behind.size() > 1) text += rank_list(behind) + "; first ";
  return text + with_excuse(scene, behind[0], ", which ");
}

}  // namespace

Fault fault_for_all(ErrorCode code, std::string message, std::string remedy, std::size_t ranks,
                    int peer) {
  return {.code = code,
          .message = std::move(message),
          .remedy = std::move(remedy),
          .peer = std::vector<int>(ranks, peer),
          .call = std::vector<std::string>(ranks)};
}

std::string obstacle_to_going_on(const std::vector<int>& come, const std::vector<int>& may_live) {
  const bool has_lowest = !come.empty() && come.front() == may_live.front();
  if (2 * come.size() + (has_lowest ? 1 : 0) > may_live.size()) return {};
  return "only " + std::to_string(come.size()) + " of " + std::to_string(may_live.size()) +
         " ranks that may live have come: the network is cut, or a machine or a rank stands still";
}

std::string seconds(std::uint64_t milliseconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g s", static_cast<double>(milliseconds) / 1000);
  return text.data();
}

std::string describe(int rank, const RankReport& rank_report) {
  std::string text = "rank " + std::to_string(rank) + " (";
  if (rank_report.world_rank != rank)
    text += "world rank " + std::to_string(rank_report.world_rank) + ", ";
  return text + "host " + rank_report.host.hostname + ", pid " +
         std::to_string(rank_report.host.pid) + ")";
}

std::uint64_t first_asked(const Stall& stall) {
  if (stall.from == 0) return 0;
  return stall.from > look_back ? stall.from - look_back : 1;
}

std::optional<Fault> find_disagreement(std::uint64_t from, std::uint64_t to,
                                       const RankReports& rank_reports) {
  const auto last = std::min(to, from + CallLog::kept);
  for (std::uint64_t sequence = std::max<std::uint64_t>(from, 1); sequence <= last; ++sequence) {
    const auto groups = groups_at(sequence, rank_reports);
    if (groups.size() > 1) return disagreement(groups, rank_reports.size());
  }
  return std::nullopt;
}

Verdict analyze(int reporter, const Stall& stall, const RankReports& rank_reports) {
  if (auto fault = find_disagreement(first_asked(stall), stall.to, rank_reports))
    return {.fault = fault};
  const Scene scene = scene_of(reporter, stall, rank_reports);
  for (int rank = 0; rank < static_cast<int>(rank_reports.size()); ++rank)
    if (scene.of(rank).left && scene.is_behind(rank)) return {.fault = never_comes(scene, rank)};
  std::vector<int> behind;
  for (int rank = 0; rank < static_cast<int>(rank_reports.size()); ++rank) {
    if (scene.is_behind(rank)) behind.push_back(rank);
  }
  // A rank that does not even answer is the first suspect, the awaited one before all others.
  std::ranges::stable_sort(behind, {}, [&](int rank) {
    return std::pair(scene.of(rank).answered, rank != scene.end_of_chain());
  });
  if (stall.mismatch != 0) return {.fault = foreign_frame(scene)};
  if (stall.expired != 0) return {.fault = too_late(scene, behind)};
  return {.note = note(scene, behind)};
}

}  // namespace rondo::control
