// Writing a schedule's text form; parse.cc reads it.
#include "core/schedule/text.h"

#include <algorithm>
#include <cctype>

namespace rondo {
namespace {

std::string chunk_text(const Chunk& chunk, std::uint32_t slots, const Layout& layout) {
  std::string words = chunk.buffer == Buffer::input    ? "input"
                      : chunk.buffer == Buffer::output ? "output"
                                                       : "scratch" + std::to_string(chunk.slot);
  if (slots > 1) words += ".." + std::to_string(chunk.slot + slots - 1);
  words += "[" + std::to_string(chunk.first);
  if (chunk.count > 1)
    words += ".." + std::to_string((chunk.first + chunk.count - 1) %
                                   static_cast<std::uint32_t>(layout.chunks()));
  return words + "]";
}

std::string chunk_text(const Chunk& chunk, const Layout& layout) {
  return chunk_text(chunk, 1, layout);
}

bool is_plain(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isgraph(c) != 0 && c != '"' && c != '#';
  });
}

std::string quoted(const std::string& name) { return is_plain(name) ? name : '"' + name + '"'; }

std::string label(const Schedule& schedule, const Step& step, int current_phase) {
  std::string words = "  ";
  if (step.phase != current_phase && step.phase < schedule.phases.size())
    words += "phase " + quoted(schedule.phases[step.phase]) + " ";
  return words + "round " + std::to_string(step.round + 1) + "\n";
}

std::string section(const Schedule& schedule, int rank, int lane) {
  const std::string words = steps_text(schedule, rank, lane);
  if (words.empty()) return words;
  return "\nrank " + std::to_string(rank) +
         (schedule.lanes > 1 ? " lane " + std::to_string(lane) : "") + "\n" + words;
}

}  // namespace

std::string steps_text(const Schedule& schedule, int rank, int lane) {
  std::string words;
  int phase = -1;
  std::int64_t round = -1;
  Steps steps = schedule.steps(rank, lane);
  while (const Step* step = steps.next()) {
    if (step->phase != phase || step->round != round) words += label(schedule, *step, phase);
    phase = step->phase;
    round = step->round;
    words += "    " + to_text(*step, schedule.layout) + "\n";
  }
  return words;
}

std::string to_text(const Step& step, const Layout& layout) {
  const std::string from = chunk_text(step.from, step.operands, layout);
  const std::string into = " into " + chunk_text(step.into, layout);
  const std::string peer = std::to_string(step.peer);
  switch (step.kind) {
    case StepKind::send:
      return "send " + from + " to " + peer;
    case StepKind::receive:
      return "receive from " + peer + into;
    case StepKind::receive_reduce:
      return step.order == Order::received_first
                 ? "receive_reduce from " + peer + " then " + from + into
                 : "receive_reduce " + from + " then from " + peer + into;
    case StepKind::reduce:
      return "reduce " + from + into;
    case StepKind::copy:
      return "copy " + from + into;
  }
  return {};
}

std::string to_text(const Schedule& schedule) {
  std::string words;
  write_text(schedule, [&](const std::string& piece) { words += piece; });
  return words;
}

void write_text(const Schedule& schedule, const std::function<void(const std::string&)>& write) {
  std::string words = "collective " + std::string(name(schedule.collective)) + "\n";
  if (!schedule.algorithm.empty()) words += "algorithm " + quoted(schedule.algorithm) + "\n";
  words += "ranks " + std::to_string(schedule.ranks) + "\n";
  if (schedule.root != 0) words += "root " + std::to_string(schedule.root) + "\n";
  if (schedule.lanes != 1) words += "lanes " + std::to_string(schedule.lanes) + "\n";
  if (schedule.depth != 1) words += "depth " + std::to_string(schedule.depth) + "\n";
  if (schedule.layout.parts != 1) words += "parts " + std::to_string(schedule.layout.parts) + "\n";
  if (!schedule.phases.empty()) words += "phases";
  for (const std::string& phase : schedule.phases) words += " " + quoted(phase);
  if (!schedule.phases.empty()) words += "\n";
  write(words);
  for (int rank = 0; rank < schedule.ranks; ++rank)
    for (int lane = 0; lane < schedule.lanes; ++lane) write(section(schedule, rank, lane));
}

}  // namespace rondo
