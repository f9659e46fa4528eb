#include "core/plan/written.h"

#include <string>

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

Lowered lower_verified(const Schedule& schedule, Fusion fusion) {
  Lowered made;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    made.programs.push_back(lower(schedule, rank, fusion));
  Schedule header = schedule;
  header.depth = made.programs[0].depth;
  made.report = verify(header, made.programs);
  const bool last = made.report.ok() || fusion == Fusion::none;
  return last ? made : lower_verified(schedule, Fusion::none);
}

std::vector<Program> lower_written(const Schedule& schedule, Fusion fusion) {
  if (schedule.lanes > most_lanes)
    refuse(schedule, "it has " + std::to_string(schedule.lanes) + " lanes",
           "at most " + std::to_string(most_lanes));
  if (schedule.depth > least_depth)
    refuse(schedule, "its channels must hold " + std::to_string(schedule.depth) + " messages",
           "'depth " + std::to_string(least_depth) +
               "': receive earlier, so that no rank sends more before the other receives");
  Lowered made = lower_verified(schedule, fusion);
  if (made.report.ok()) return std::move(made.programs);
  throw Error(ErrorCode::internal,
              "the program of " + schedule.algorithm + " is wrong: " + made.report.findings.front(),
              {.remedy = "report this with the schedule"});
}

}  // namespace rondo
