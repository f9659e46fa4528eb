#include "core/schedule/provable.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/schedule/op.h"
#include "rondo/error.h"

namespace rondo {
namespace {

constexpr std::uint64_t most_cells = std::uint64_t{1} << 21;  ///< chunks of all ranks' buffers
constexpr std::uint64_t most_moved = std::uint64_t{1} << 21;  ///< chunks of all steps of all ranks
constexpr std::uint64_t most_steps = std::uint64_t{1}
                                     << 14;  ///< of one rank: hazard.h compares all

[[noreturn]] void refuse(const Schedule& schedule, std::string_view source, std::uint64_t most,
                         const std::string& what) {
  throw Error(ErrorCode::invalid_argument,
              std::string(source) + " has more than " + std::to_string(most) + " " + what +
                  " with " + std::to_string(schedule.ranks) +
                  " ranks, which would take too long to prove",
              {.remedy = "use fewer parts and steps, or `when` and `ranks` for fewer ranks"});
}

}  // namespace

void check_provable(const Schedule& schedule, std::string_view source) {
  const auto ranks = static_cast<std::uint64_t>(schedule.ranks);
  if (static_cast<std::uint64_t>(schedule.layout.chunks()) > most_cells / ranks)
    refuse(schedule, source, most_cells, "chunks on all ranks together");
  std::uint64_t moved = 0;
  const auto move = [&](std::uint64_t chunks) {
    moved += chunks;
    if (moved > most_moved)
      refuse(schedule, source, most_moved, "chunks in the steps of all ranks");
  };
  std::vector<Operand> operands;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    std::uint64_t left = most_steps;
    for (int lane = 0; lane < schedule.lanes; ++lane) {
      move(1);  // a lane without steps is looked at, too
      Steps steps = schedule.steps(rank, lane);
      while (const Step* step = steps.next()) {
        if (left-- == 0)
          refuse(schedule, source, most_steps, "steps on rank " + std::to_string(rank));
        const Op op = to_op(*step, lane, operands);
        move(std::max<std::uint64_t>(1, op.extent.count) * operands.size());
      }
    }
  }
}

}  // namespace rondo
