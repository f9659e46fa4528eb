// Part of DirectEngine: the decisions that all ranks make alike.
//
// - Whether a call takes the direct path. All ranks have heard the same times.
// - How an exposed call's memory is reached. All ranks have read the same announcements.
#include <algorithm>
#include <string>

#include "core/base/log.h"
#include "core/execute/direct.h"
#include "core/plan/sizes.h"

namespace rondo::detail {

bool DirectEngine::goes_by_messages() {
  turn_ = {};
  if (!call_->measured) return false;
  const Call& call = operation_->prepared->call;
  kind_ = {call.collective, part_->bytes(), call.blocks != 0};
  turn_ = contest_.next(kind_);
  turn_.hears = turn_.hears && announces();
  if (turn_.timed || turn_.watched) began_ = std::chrono::steady_clock::now();
  return turn_.way == Contest::Way::messages || (turn_.looks && !announces());
}

void DirectEngine::stop_clock() {
  const auto took = std::chrono::steady_clock::now() - began_;
  const auto whole = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
  if (turn_.timed) contest_.add(kind_, turn_.way, static_cast<std::uint64_t>(whole));
  if (turn_.watched) contest_.watch(kind_, static_cast<std::uint64_t>(whole));
  turn_.timed = turn_.watched = false;
}

Contest::Times DirectEngine::times_to_tell() const {
  return turn_.settles ? contest_.best(kind_) : contest_.recent(kind_);
}

/// A call takes as long as on its slowest rank.
void DirectEngine::settle_contest() {
  Contest::Times slowest = times_to_tell();
  for (const std::int32_t peer : others_) {
    const Contest::Times& its = board_.post(peer, number_).times;
    for (std::size_t way = 0; way < slowest.size(); ++way)
      slowest[way] = std::max(slowest[way], its[way]);
  }
  const bool news = turn_.settles ? contest_.settle(kind_, slowest) : contest_.hear(kind_, slowest);
  if (news && rank_ == 0 && log_enabled(LogLevel::info, LogSubsystem::tuning)) tell_of_contest();
}

void DirectEngine::tell_of_contest() const {
  const bool direct = contest_.faster(kind_) == Contest::Way::direct;
  const auto time = [&](Contest::Way way) {
    return std::to_string(contest_.heard(kind_)[static_cast<std::size_t>(way)] / 1000) + " us";
  };
  const std::string directly =
      call_->staged || call_->copies ? "direct" : "after a look for rondo::allocate() memory";
  log(LogLevel::info, rank_,
      "autotuner: " + std::string(name(kind_.collective)) + " of about " +
          std::to_string(Contest::nominal_bytes(kind_)) + " B: " + time(Contest::Way::direct) +
          " " + directly + ", " + time(Contest::Way::messages) + " by messages; " +
          (direct ? directly : "by messages") + " from here on",
      LogSubsystem::tuning);
}

void DirectEngine::decide() {
  const auto in_windows = [](const Announcement& a) { return a.in_windows != 0; };
  const bool all = std::all_of(announcements_.begin(), announcements_.end(), in_windows);
  if (call_->measured) contest_.saw(kind_, all);
  if (all) {
    part_ = &call_->windows;
    staged_ = false;
    turn_.timed = turn_.watched = false;
  }
  by_messages_ = !all && (wants_messages() || !(call_->staged || call_->copies));
  if (!all && call_->copies) staging_.resize((others_.size() + 1) * copied_slice_bytes);
  streaming_ = !staged_ && operation_->prepared->results_bytes() >= cached_results;
}

}  // namespace rondo::detail
