#include "core/schedule/provable.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/schedule/op.h"
#include "rondo/error.h"

namespace rondo {
namespace {

constexpr std::uint64_t most_cells = std::uint64_t{1} << 21;  ///< chunks of all ranks' buffers
constexpr std::uint64_t most_moved = std::uint64_t{1} << 21;  ///< chunks of all steps of all ranks
constexpr std::uint64_t most_steps = std::uint64_t{1}
                                     << 14;  ///< of one rank: hazard.h compares all

/// Adds a lane's steps, until there are too many.
void count_lane(const Schedule& schedule, int rank, int lane, std::uint64_t& count,
                std::uint64_t& moved) {
  std::vector<Operand> operands;
  ++moved;  // a lane without steps is looked at, too
  try {
    Steps steps = schedule.steps(rank, lane);
    while (const Step* step = steps.next()) {
      const Op op = to_op(*step, lane, operands);
      moved += std::max<std::uint64_t>(1, op.extent.count) * operands.size();
      if (++count > most_steps || moved > most_moved) return;
    }
  } catch (const Error&) {  // verify() says it
  }
}

std::string excess(const Schedule& schedule) {
  const auto more_than = [](std::uint64_t most, const std::string& what) {
    return "has more than " + std::to_string(most) + " " + what;
  };
  const auto ranks = static_cast<std::uint64_t>(schedule.ranks);
  if (static_cast<std::uint64_t>(schedule.layout.chunks()) > most_cells / ranks)
    return more_than(most_cells, "chunks on all ranks together");
  std::uint64_t moved = 0;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    std::uint64_t steps = 0;
    for (int lane = 0; lane < schedule.lanes; ++lane) {
      count_lane(schedule, rank, lane, steps, moved);
      if (steps > most_steps) return more_than(most_steps, "steps on rank " + std::to_string(rank));
      if (moved > most_moved) return more_than(most_moved, "chunks in the steps of all ranks");
    }
  }
  return {};
}

}  // namespace

std::string too_long_to_prove(const Schedule& schedule) {
  const std::string words = excess(schedule);
  if (words.empty()) return {};
  return words + " with " + std::to_string(schedule.ranks) +
         " ranks, which would take too long to prove";
}

}  // namespace rondo
