#include "core/schedule/provable.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/schedule/op.h"
#include "rondo/error.h"

namespace rondo {
namespace {

constexpr std::uint64_t most_lanes_in_all = std::uint64_t{1} << 16;
constexpr std::uint64_t most_buffer_chunks = std::uint64_t{1} << 21;
constexpr std::uint64_t most_operand_chunks = std::uint64_t{1} << 20;
constexpr std::uint64_t most_steps = std::uint64_t{1}
                                     << 14;  ///< of one rank: hazard.h compares all

struct Count {
  std::uint64_t steps = 0;     ///< of one rank
  std::uint64_t operands = 0;  ///< chunks that the steps of all ranks read
  std::string line{};          ///< ", line 5,": of the step that was too many

  bool is_over() const { return steps > most_steps || operands > most_operand_chunks; }
};

/// Adds a lane's steps, until there are too many.
void count_lane(const Schedule& schedule, int rank, int lane, const LineOf& line_of, Count& count) {
  std::vector<Operand> operands;
  try {
    Steps steps = schedule.steps(rank, lane);
    std::uint64_t index = 0;
    while (const Step* step = count.is_over() ? nullptr : steps.next()) {
      const Op op = to_op(*step, lane, operands);
      ++count.steps;
      count.operands += std::max<std::uint64_t>(1, op.extent.count) * operands.size();
      if (count.is_over() && line_of) count.line = line_text(line_of, rank, lane, index) + ",";
      ++index;
    }
  } catch (const Error&) {  // verify() says it
  }
}

std::string more_than(std::uint64_t most, const std::string& what) {
  return "has more than " + std::to_string(most) + " " + what;
}

std::string in_line(int line) { return line > 0 ? ", line " + std::to_string(line) + "," : ""; }

std::string excess(const Schedule& schedule, const LineOf& line_of, const HeaderLines& lines) {
  const auto ranks = static_cast<std::uint64_t>(schedule.ranks);
  if (static_cast<std::uint64_t>(schedule.lanes) > most_lanes_in_all / ranks)
    return more_than(most_lanes_in_all, "lanes on all ranks together" + in_line(lines.lanes));
  if (static_cast<std::uint64_t>(schedule.layout.chunks()) > most_buffer_chunks / ranks)
    return more_than(most_buffer_chunks,
                     "chunks in the buffers of all ranks together" + in_line(lines.parts));
  Count count;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    count.steps = 0;
    for (int lane = 0; lane < schedule.lanes; ++lane)
      count_lane(schedule, rank, lane, line_of, count);
    if (count.steps > most_steps)
      return more_than(most_steps, "steps on rank " + std::to_string(rank) + count.line);
    if (count.is_over())
      return more_than(most_operand_chunks,
                       "chunks as operands of all ranks' steps together" + count.line);
  }
  return {};
}

}  // namespace

std::string too_long_to_prove(const Schedule& schedule, const std::uint64_t& statements,
                              const LineOf& line_of, const HeaderLines& lines) {
  std::string words = excess(schedule, line_of, lines);
  if (words.empty() && statements == 0)
    words = more_than(most_statements_in_all, "statements to run on all ranks together");
  if (words.empty()) return {};
  return words + " with " + std::to_string(schedule.ranks) +
         " ranks, which would take too long to prove";
}

}  // namespace rondo
