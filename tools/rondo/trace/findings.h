// What a timeline shows: which rank waited for which, and which link and round took the time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "tools/rondo/trace/timeline.h"

namespace rondo::tool {

/// The schedule that a call ran by messages; std::nullopt where this rondo has no algorithm of that
/// name, or for a send.
std::optional<Schedule> schedule_of(const TracedPlan& plan);

/// Names of what ranks work on. Keeps the schedules that it has looked up.
class WorkNames {
 public:
  /// "reduce-scatter round 2", "second round", "message".
  std::string of(const TracedCall& call, const Work& work);

 private:
  std::map<const TracedPlan*, std::optional<Schedule>> schedules_{};
};

struct RankFindings {
  std::int64_t inside = 0;   ///< time in calls
  std::int64_t waited = 0;   ///< the part of it in which the rank waited
  std::int64_t excused = 0;  ///< the part of the wait in which another rank was late
  std::int64_t delayed = 0;  ///< how long others waited for this rank, in all
  std::size_t last = 0;      ///< how many calls this rank came to last
};

struct LinkFindings {
  int from = 0;
  int to = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  /// The sum, over messages, of the time from the send's begin to its end at the receiver. If the
  /// receiver came after the send began, the time counts from its coming: the link is not at fault.
  std::int64_t carried = 0;
};

struct RoundFindings {
  std::string name{};
  std::int64_t took = 0;  ///< on the rank where it took longest
  int rank = 0;           ///< that rank
};

struct Findings {
  std::vector<RankFindings> ranks{};
  std::vector<LinkFindings> links{};
  std::vector<RoundFindings> rounds{};  ///< in the order in which they appear
  std::int64_t arrivals = 0;  ///< from the first rank's arrival to the last one's, in all calls

  /// The rank for which the others waited longest; -1: no rank waited.
  int slowest_rank() const;
  /// The link whose messages took longest on average; nullptr if there are none.
  const LinkFindings* slowest_link() const;
  const RoundFindings* slowest_round() const;
};

/// What some calls together show.
Findings find(const std::vector<const TracedCall*>& calls, std::size_t ranks, WorkNames& names);

}  // namespace rondo::tool
