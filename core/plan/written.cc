#include "core/plan/written.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/schedule/machine.h"
#include "rondo/error.h"

namespace rondo {
namespace {

/// Chunks of scratch on a rank. A call takes up to a frame for each.
constexpr int most_scratch_chunks = 1 << 13;

[[noreturn]] void refuse(const Schedule& schedule, const std::string& why,
                         const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument,
              "the schedule " + schedule.algorithm + " cannot run with " +
                  std::to_string(schedule.ranks) + " ranks: " + why,
              {.remedy = remedy});
}

/// The Domain of op counts: each op takes its lane one unit, and each message one more.
class OpClocks {
 public:
  struct Value {
    double arrival = 0;
  };

  explicit OpClocks(const Schedule& header)
      : lanes_(header.lanes), clocks_(static_cast<std::size_t>(header.ranks * header.lanes)) {}

  double& of(int rank, int lane) { return clocks_[static_cast<std::size_t>(rank * lanes_ + lane)]; }
  double start(const Site& site, double arrived) {
    return std::max(of(site.rank, site.lane), arrived);
  }
  static double arrival(const Value& value) { return value.arrival; }

  static Value read(const Site&, const Chunk&) { return {}; }
  Value arrive(const Site& site, int, Value message) {
    double& clock = of(site.rank, site.lane);
    clock = std::max(clock, message.arrival);
    return {};
  }
  static Value combine(const Site&, std::span<Value>) { return {}; }
  static void write(const Site&, const Chunk&, const Value&) {}
  Value depart(const Site& site, int, Value) { return {of(site.rank, site.lane) + 1}; }

 private:
  int lanes_;
  std::vector<double> clocks_;
};

/// Notes the order in which each rank's ops run.
class NotedSource : public ProgramSource {
 public:
  NotedSource(const Schedule& header, std::span<const Program> programs, OpClocks& clocks)
      : ProgramSource(header, programs), clocks_(clocks), order_(programs.size()) {}

  void done(int rank, const Move& move) {
    ProgramSource::done(rank, move);
    clocks_.of(rank, move.op->lane) += 1;
    order_[static_cast<std::size_t>(rank)].push_back(static_cast<std::uint32_t>(move.index));
  }
  const std::vector<std::uint32_t>& order(int rank) const {
    return order_[static_cast<std::size_t>(rank)];
  }

 private:
  OpClocks& clocks_;
  std::vector<std::vector<std::uint32_t>> order_;
};

Program in_order(const Program& program, const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  Program made = program;
  for (std::uint32_t i = 0; i < order.size(); ++i) made.ops[i] = program.ops[order[i]];
  for (Dependency& dependency : made.dependencies) dependency.on = place[dependency.on];
  return made;
}

/// An executor looks only so far ahead of the oldest op that has not run. In an order in which all
/// ranks have once run their ops, one by one, the oldest op of some rank can always run. Ranks may have
/// ordered their lanes in any other way.
void order_lanes(const Schedule& header, std::vector<Program>& programs) {
  OpClocks clocks(header);
  NotedSource source(header, programs, clocks);
  Machine<NotedSource, OpClocks>(source, clocks).run();
  for (int rank = 0; rank < header.ranks; ++rank) {
    Program& program = programs[static_cast<std::size_t>(rank)];
    program = in_order(program, source.order(rank));
  }
}

}  // namespace

Lowered lower_verified(const Schedule& schedule, Fusion fusion) {
  Lowered made;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    made.programs.push_back(lower(schedule, rank, fusion));
  Schedule header = schedule;
  header.depth = made.programs[0].depth;
  made.report = verify(header, made.programs);
  if (!made.report.completed && fusion != Fusion::none)
    return lower_verified(schedule, Fusion::none);
  if (made.report.ok() && schedule.lanes > 1) order_lanes(header, made.programs);
  return made;
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
  if (!made.report.ok())
    throw Error(
        ErrorCode::internal,
        "the program of " + schedule.algorithm + " is wrong: " + made.report.findings.front(),
        {.remedy = "report this with the schedule"});
  for (const Program& program : made.programs)
    if (program.scratch_slots > most_scratch_chunks / schedule.layout.chunks())
      refuse(schedule,
             "it needs " + std::to_string(program.scratch_slots) + " scratch slots of " +
                 std::to_string(schedule.layout.chunks()) + " chunks",
             "use a slot again when what it held was read");
  return std::move(made.programs);
}

}  // namespace rondo
