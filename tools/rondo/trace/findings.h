// What a timeline shows: who waited for whom, which link and which round took the time.
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
  std::int64_t inside = 0;   ///< in calls
  std::int64_t waited = 0;   ///< of it
  std::int64_t excused = 0;  ///< of that: some other rank had not given yet
  std::int64_t delayed = 0;  ///< for how long others waited for this rank, in all
  std::size_t last = 0;      ///< calls that it came to last
};

struct LinkFindings {
  int from = 0;
  int to = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  /// From the send's begin, or from when the receiver wanted it if that was later (its own
  /// lateness is not the link's), to its end at the receiver, in all.
  std::int64_t carried = 0;
};

struct RoundFindings {
  std::string name{};
  std::int64_t took = 0;  ///< on the rank that it took longest on
  int rank = 0;           ///< which
};

struct Findings {
  std::vector<RankFindings> ranks{};
  std::vector<LinkFindings> links{};
  std::vector<RoundFindings> rounds{};  ///< in the order in which they come up
  std::int64_t arrivals = 0;            ///< from the first rank's to the last one's, in all calls

  /// For whom the others waited longest; -1: nobody waited.
  int slowest_rank() const;
  /// Whose messages took longest in the mean; nullptr where there are none.
  const LinkFindings* slowest_link() const;
  const RoundFindings* slowest_round() const;
};

/// Of some calls together.
Findings find(const std::vector<const TracedCall*>& calls, std::size_t ranks, WorkNames& names);

}  // namespace rondo::tool
