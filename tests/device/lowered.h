// An algorithm for one number of ranks and one root, lowered for every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/table.h"
#include "core/plan/lower.h"
#include "kernels/device/encode.h"

namespace rondo::device::test {

/// One rank's part of a call, but for memory.
struct Prepared {
  std::vector<std::byte> program;
  Sizes sizes;
  std::size_t scratch_bytes;

  /// The teams of a rank that have a part.
  std::uint32_t teams() const {
    return reinterpret_cast<const DeviceProgram*>(program.data())->lanes * sizes.stripes;
  }
};

struct Lowered {
  Lowered(const Algorithm& row, int ranks, int root) : schedule(row.build(ranks, root)) {
    for (int rank = 0; rank < ranks; ++rank) programs.push_back(lower(schedule, rank));
    traits = traits_of(schedule, programs, longest_message(schedule));
    traits.adds_all = false;  // averages as the reference makes them
  }

  Prepared prepare(int rank, std::size_t count, DataType type, ReduceOperator op, Protocol protocol,
                   const ArenaShape& arena) const {
    const Program& lowered = programs[static_cast<std::size_t>(rank)];
    Prepared made{.program = encode(schedule, lowered, rank),
                  .sizes = sizes_of({.schedule = schedule,
                                     .traits = traits,
                                     .rank = rank,
                                     .count = count,
                                     .type = type,
                                     .op = op,
                                     .protocol = protocol,
                                     .arena = arena}),
                  .scratch_bytes = 0};
    made.scratch_bytes = scratch_bytes(made.sizes, lowered.scratch_slots, schedule.layout.chunks());
    return made;
  }

  Schedule schedule;
  std::vector<Program> programs{};
  Traits traits{};
};

}  // namespace rondo::device::test
