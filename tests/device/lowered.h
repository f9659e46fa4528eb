// An algorithm for one number of ranks and one root, lowered or merged for every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/table.h"
#include "core/plan/lower.h"
#include "core/plan/merge.h"
#include "core/schedule/verify.h"
#include "kernels/device/sizes.h"

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
    find_traits();
  }
  /// Merged. None where that cannot be, or is not right.
  static std::optional<Lowered> merged(const Algorithm& row, int ranks, int root,
                                       const Sharing& sharing) {
    Lowered made(row.build(ranks, root));
    auto programs = merge(made.schedule, sharing);
    if (!programs || !verify(made.schedule, *programs).ok()) return std::nullopt;
    made.programs = std::move(*programs);
    made.find_traits();
    if (made.traits.scratch_slots > 0) return std::nullopt;
    return made;
  }

  Prepared prepare(int rank, std::size_t count, DataType type, ReduceOperator op, Protocol protocol,
                   const ArenaShape& arena) const {
    const Program& lowered = programs[static_cast<std::size_t>(rank)];
    Prepared made{.program = encode(schedule, lowered, rank),
                  .sizes = sizes_of(request(rank, count, type, op, protocol, arena)),
                  .scratch_bytes = 0};
    made.scratch_bytes = scratch_bytes(made.sizes, lowered.scratch_slots, schedule.layout.chunks());
    return made;
  }

  SizeRequest request(int rank, std::size_t count, DataType type, ReduceOperator op,
                      Protocol protocol, const ArenaShape& arena) const {
    return {.schedule = schedule,
            .traits = traits,
            .rank = rank,
            .count = count,
            .type = type,
            .op = op,
            .protocol = protocol,
            .arena = arena};
  }
  /// The ways in which programs are merged on devices.
  static constexpr Sharing sharings[] = {{Places::buffers, Posted::none},
                                         {Places::buffers, Posted::sums},
                                         {Places::buffers, Posted::all}};
  bool is_merged() const { return traits.stages > 0; }

 private:
  explicit Lowered(Schedule of) : schedule(std::move(of)) {}
  void find_traits() {
    traits = traits_of(schedule, programs, longest_message(schedule));
    traits.adds_all = false;  // averages as the reference makes them
  }

 public:
  Schedule schedule;
  std::vector<Program> programs{};
  Traits traits{};
};

}  // namespace rondo::device::test
