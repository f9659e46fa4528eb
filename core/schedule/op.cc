#include "core/schedule/op.h"

namespace rondo {
namespace {

Operand local(const Chunk& chunk) { return {.chunk = chunk}; }
Operand message(int peer, const Chunk& extent) { return {.peer = peer, .chunk = extent}; }

std::string chunk_defect(const Schedule& header, const Chunk& chunk) {
  if (chunk.buffer != Buffer::scratch && chunk.slot != 0)
    return "uses slot " + std::to_string(chunk.slot) + " of a buffer that has no slots";
  const auto chunks = static_cast<std::uint32_t>(header.layout.chunks());
  if (chunk.first >= chunks || chunk.count > chunks || chunk.count == 0)
    return text(chunk, header.layout) + " is outside the layout's " + std::to_string(chunks) +
           " chunks";
  return {};
}

std::string peer_defect(const Schedule& header, int rank, int peer) {
  if (peer == rank) return "exchanges a message with itself";
  if (peer >= header.ranks)
    return "peer " + std::to_string(peer) + " is not one of " + std::to_string(header.ranks) +
           " ranks";
  return {};
}

std::string operand_defect(const Schedule& header, int rank, const Op& op, const Operand& operand) {
  if (operand.chunk.count != op.extent.count)
    return "an operand is " + std::to_string(operand.chunk.count) + " chunks long, the step " +
           std::to_string(op.extent.count);
  if (!operand.is_local()) {
    const std::string problem = peer_defect(header, rank, operand.peer);
    if (!problem.empty() || operand.is_channel()) return problem;
  }
  return chunk_defect(header, operand.chunk);
}

std::string_view buffer_name(Buffer buffer) {
  return buffer == Buffer::input ? "input" : buffer == Buffer::output ? "output" : "scratch";
}

}  // namespace

Op to_op(const Step& step, int lane, std::vector<Operand>& operands) {
  operands.clear();
  Op op;
  op.lane = static_cast<std::uint16_t>(lane);
  op.phase = step.phase;
  op.round = step.round;
  op.writes = step.kind != StepKind::send;
  op.into = step.into;
  op.extent = step.kind == StepKind::receive ? step.into : step.from;
  switch (step.kind) {
    case StepKind::send:
      operands.push_back(local(step.from));
      op.out_peer = step.peer;
      break;
    case StepKind::receive:
      operands.push_back(message(step.peer, step.into));
      break;
    case StepKind::receive_reduce:
      operands = {message(step.peer, step.from), local(step.from)};
      if (step.order == Order::local_first) std::swap(operands[0], operands[1]);
      break;
    case StepKind::reduce:
      for (std::uint32_t i = 0; i < step.operands; ++i) {
        operands.push_back(local(step.from));
        operands.back().chunk.slot = static_cast<std::uint16_t>(step.from.slot + i);
      }
      break;
    case StepKind::copy:
      operands.push_back(local(step.from));
      break;
  }
  op.operands = static_cast<std::uint32_t>(operands.size());
  return op;
}

std::string defect(const Schedule& header, int rank, const Op& op,
                   std::span<const Operand> operands) {
  if (operands.empty()) return "has no operand";
  if (!op.writes && op.out_peer < 0 && op.stores == 0) return "goes nowhere";
  if (op.lane >= header.lanes)
    return "lane " + std::to_string(op.lane) + " of " + std::to_string(header.lanes);
  for (const Operand& operand : operands) {
    if (std::string problem = operand_defect(header, rank, op, operand); !problem.empty())
      return problem;
  }
  if (op.writes || op.stores > 0) {
    if (op.into.buffer == Buffer::input) return "writes the input buffer, which is read only";
    if (op.into.count != op.extent.count) return "writes another number of chunks than it reads";
    if (std::string problem = chunk_defect(header, op.into); !problem.empty()) return problem;
  }
  if (op.out_peer >= 0) return peer_defect(header, rank, op.out_peer);
  return {};
}

std::string text(const Chunk& chunk, const Layout& layout) {
  std::string words(buffer_name(chunk.buffer));
  if (chunk.buffer == Buffer::scratch) words += " slot " + std::to_string(chunk.slot);
  if (chunk.count == 1) return words + " chunk " + std::to_string(chunk.first);
  const auto chunks = static_cast<std::uint32_t>(layout.chunks());
  const std::uint32_t last = chunks == 0 ? 0 : (chunk.first + chunk.count - 1) % chunks;
  return words + " chunks " + std::to_string(chunk.first) + " to " + std::to_string(last) + " (" +
         std::to_string(chunk.count) + ")";
}

std::string phase_text(const Schedule& header, int phase, std::uint32_t round) {
  const auto index = static_cast<std::size_t>(phase);
  const std::string name =
      index < header.phases.size() ? header.phases[index] + " " : std::string();
  return name + "round " + std::to_string(round + 1);
}

std::string line_text(const LineOf& line_of, int rank, int lane, std::uint64_t step) {
  return line_of ? ", line " + std::to_string(line_of(rank, lane, step)) : std::string();
}

std::string step_text(const Schedule& header, const LineOf& line_of, int rank, int lane,
                      std::uint64_t step, const Op& op) {
  return "rank " + std::to_string(rank) + " lane " + std::to_string(lane) + " step " +
         std::to_string(step) + " (" + phase_text(header, op.phase, op.round) +
         line_text(line_of, rank, lane, step) + "): ";
}

}  // namespace rondo
