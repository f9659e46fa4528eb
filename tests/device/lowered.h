// An algorithm for one number of ranks and one root, lowered for every rank.
#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/table.h"
#include "core/plan/lower.h"
#include "kernels/device/encode.h"

namespace rondo::device::test {

struct Lowered {
  Lowered(const Algorithm& row, int ranks, int root)
      : schedule(row.build(ranks, root)), longest(longest_message(schedule)) {
    for (int rank = 0; rank < ranks; ++rank) programs.push_back(lower(schedule, rank));
    for (const Program& program : programs) depth = std::max(depth, program.depth);
  }

  std::vector<std::byte> image(int rank, const Partition& partition, DataType type,
                               ReduceOperator op, Protocol protocol,
                               const ArenaShape& arena) const {
    return encode({.schedule = schedule,
                   .program = programs[static_cast<std::size_t>(rank)],
                   .partition = partition,
                   .rank = rank,
                   .type = type,
                   .op = op,
                   .longest_message = longest,
                   .protocol = protocol,
                   .arena = arena});
  }

  Schedule schedule;
  std::vector<Program> programs{};
  int longest;
  int depth = 2;
};

}  // namespace rondo::device::test
