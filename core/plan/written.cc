#include "core/plan/written.h"

#include <string>

#include "core/plan/lower.h"
#include "core/schedule/verify.h"
#include "rondo/error.h"

namespace rondo {
namespace {

[[noreturn]] void refuse(const Schedule& schedule, const std::string& why,
                         const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument,
              "the schedule " + schedule.algorithm + " cannot run with " +
                  std::to_string(schedule.ranks) + " ranks: " + why,
              {.remedy = remedy});
}

}  // namespace

std::vector<Program> lower_written(const Schedule& schedule, bool sends_from_place) {
  if (schedule.lanes > most_lanes)
    refuse(schedule, "it has " + std::to_string(schedule.lanes) + " lanes",
           "at most " + std::to_string(most_lanes));
  if (schedule.depth > least_depth)
    refuse(schedule, "its channels must hold " + std::to_string(schedule.depth) + " messages",
           "'depth " + std::to_string(least_depth) +
               "': receive earlier, so that no rank sends more before the other receives");
  std::vector<Program> programs;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    programs.push_back(lower(schedule, rank, sends_from_place));
  Schedule header = schedule;
  header.depth = least_depth;
  const Report report = verify(header, programs);
  if (!report.ok())
    refuse(schedule, report.findings.front(),
           "send less before the other side receives; `rondo verify --file` says more");
  return programs;
}

}  // namespace rondo
