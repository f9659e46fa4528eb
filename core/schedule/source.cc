#include "core/schedule/source.h"

#include <algorithm>

#include "rondo/error.h"

namespace rondo {
namespace {

void check(const Schedule& header, int rank, int lane, const Move& move,
           const LineOf& line_of = {}) {
  const std::string problem = defect(header, rank, *move.op, move.operands);
  if (problem.empty()) return;
  throw Error(ErrorCode::invalid_argument,
              step_text(header, line_of, rank, lane, move.index, *move.op) + problem);
}

/// Operands and dependencies lie within the program.
void check_references(const Program& program) {
  const auto within = [](std::uint32_t first, std::uint32_t count, std::size_t size) {
    return first <= size && count <= size - first;
  };
  for (const Op& op : program.ops)
    if (!within(op.first_operand, op.operands, program.operands.size()) ||
        !within(op.first_dependency, op.dependencies, program.dependencies.size()) ||
        !within(op.first_store, op.stores, program.stores.size()) ||
        (program.stages > 0 && op.stage >= program.stages))
      throw Error(ErrorCode::invalid_argument, "a program's op refers beyond the program");
  for (const Dependency& dependency : program.dependencies)
    if (dependency.on >= program.ops.size())
      throw Error(ErrorCode::invalid_argument, "a program's dependency refers beyond the program");
}

std::size_t cursor(const Schedule& header, int rank, int lane) {
  return static_cast<std::size_t>(rank) * static_cast<std::size_t>(header.lanes) +
         static_cast<std::size_t>(lane);
}

}  // namespace

ScheduleSource::ScheduleSource(const Schedule& schedule, LineOf line_of)
    : schedule_(&schedule),
      line_of_(std::move(line_of)),
      lanes_(cursor(schedule, schedule.ranks, 0)) {}

bool ScheduleSource::next(int rank, int lane, Move& move) {
  Lane& state = lanes_[cursor(*schedule_, rank, lane)];
  if (!state.steps) state.steps.emplace(schedule_->steps(rank, lane));
  const Step* step = state.steps->next();
  if (step == nullptr) return false;
  state.op = to_op(*step, lane, state.operands);
  move = {&state.op, state.operands, state.index++};
  check(*schedule_, rank, lane, move, line_of_);
  return true;
}

ProgramSource::ProgramSource(const Schedule& header, std::span<const Program> programs)
    : header_(&header), programs_(programs), position_(cursor(header, header.ranks, 0)) {
  if (programs.size() != static_cast<std::size_t>(header.ranks))
    throw Error(ErrorCode::invalid_argument, std::to_string(programs.size()) + " programs for " +
                                                 std::to_string(header.ranks) + " ranks");
  for (const Program& program : programs) {
    check_references(program);
    if (program.stages != programs[0].stages || program.places != programs[0].places)
      throw Error(ErrorCode::invalid_argument, "the ranks' programs are merged in different ways");
    finished_.emplace_back(program.ops.size());
    left_.emplace_back(static_cast<std::size_t>(program.stages));
    for (const Op& op : program.ops)
      if (program.stages > 0) ++left_.back()[op.stage];
  }
}

bool ProgramSource::next(int rank, int lane, Move& move) {
  const Program& program = programs_[static_cast<std::size_t>(rank)];
  std::size_t& at = position_[cursor(*header_, rank, lane)];
  while (at < program.ops.size() && program.ops[at].lane != lane) ++at;
  if (at == program.ops.size()) return false;
  const Op& op = program.ops[at];
  move = {&op, program.operands_of(op), at++};
  check(*header_, rank, lane, move);
  return true;
}

bool ProgramSource::may_run(int rank, const Move& move) const {
  const auto index = static_cast<std::size_t>(rank);
  for (const Dependency& dependency : programs_[index].dependencies_of(*move.op))
    if (!dependency.previous_pass && !finished_[index][dependency.on]) return false;
  return !is_merged() || stage_begins(rank, move.op->stage);
}

bool ProgramSource::stage_begins(int rank, int stage) const {
  const auto ended = [&](int peer) {
    const std::vector<std::size_t>& left = left_[static_cast<std::size_t>(peer)];
    return std::all_of(left.begin(), left.begin() + stage,
                       [](std::size_t ops) { return ops == 0; });
  };
  return std::ranges::all_of(touched(programs_[static_cast<std::size_t>(rank)], stage), ended);
}

void ProgramSource::done(int rank, const Move& move) {
  const auto index = static_cast<std::size_t>(rank);
  finished_[index][move.index] = true;
  if (is_merged()) --left_[index][move.op->stage];
}

}  // namespace rondo
