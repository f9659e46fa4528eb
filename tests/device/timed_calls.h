// Calls on machines that only exist as a model (timed_run.h).
#pragma once

#include <memory>
#include <stdexcept>
#include <vector>

#include "core/resident/form.h"
#include "kernels/device/interpret.h"
#include "tests/device/lowered.h"
#include "tests/device/placed.h"
#include "tests/device/timed_run.h"

namespace rondo::device::test {

/// A call of float32 sums whose ranks have a GPU each.
struct TimedCall {
  const Algorithm* row = nullptr;
  int ranks = 8;
  std::size_t bytes = 0;
  std::uint32_t stripes = 32;  ///< blocks of a rank
  Protocol protocol = Protocol::bulk;
  std::uint32_t threads = 2;  ///< simulated, of a block
};

/// The memory of one rank.
struct TimedRank {
  std::vector<float> input{}, output{};
  std::vector<Line> scratch{};
};

inline std::vector<OwnedBytes> owned_bytes(const HostGroup& group,
                                           const std::vector<TimedRank>& ranks) {
  std::vector<OwnedBytes> all;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const auto add = [&](const auto& values) {
      all.push_back({reinterpret_cast<const std::byte*>(values.data()),
                     values.size() * sizeof(values[0]), rank});
    };
    all.push_back({group.arenas()[rank], ArenaPlaces(group.shape()).bytes(), rank});
    add(ranks[rank].input);
    add(ranks[rank].output);
    add(ranks[rank].scratch);
  }
  return all;
}

/// Its seconds, from the begin of the kernels to the end of the last one, once the same call has been made
/// before: the first message of a channel wipes its packets. Throws std::runtime_error where an output is
/// wrong.
inline double seconds_of(const TimedCall& call, const Machine& machine) {
  const Lowered lowered(*call.row, call.ranks, 0);
  ArenaShape shape = resident::arena_shape(call.ranks, call.stripes);
  const std::size_t count = call.bytes / sizeof(float);
  HostGroup group(shape);
  std::vector<TimedRank> ranks(static_cast<std::size_t>(call.ranks));
  std::vector<Prepared> parts;
  std::vector<RankContext> contexts;
  for (int rank = 0; rank < call.ranks; ++rank) {
    TimedRank& memory = ranks[static_cast<std::size_t>(rank)];
    memory.input.assign(count, static_cast<float>(rank + 1));
    memory.output.assign(count, 0.0F);
    parts.push_back(
        lowered.prepare(rank, count, DataType::float32, ReduceOperator::sum, call.protocol, shape));
    memory.scratch.resize(parts.back().scratch_bytes / sizeof(Line) + 1);
  }
  for (int rank = 0; rank < call.ranks; ++rank) {
    const auto number = static_cast<std::size_t>(rank);
    RankContext& made = contexts.emplace_back(group.context(rank));
    made.program = parts[number].program.data();
    made.sizes = parts[number].sizes;
    made.input = reinterpret_cast<const std::byte*>(ranks[number].input.data());
    made.output = reinterpret_cast<std::byte*>(ranks[number].output.data());
    made.scratch = reinterpret_cast<std::byte*>(ranks[number].scratch.data());
  }
  const std::uint32_t teams = parts.front().teams();
  double seconds = 0;
  for (int turn = 0; turn < 2; ++turn) {
    seconds = run_timed(machine, owned_bytes(group, ranks), shape.ranks, teams, call.threads,
                        [&](HostTeam& team, std::uint32_t number) {
                          run_lane_until_taken(team, contexts[number / teams], number % teams);
                        });
  }
  const float sum = static_cast<float>(call.ranks * (call.ranks + 1) / 2);
  for (const TimedRank& rank : ranks) {
    if (std::ranges::any_of(rank.output, [&](float value) { return value != sum; }))
      throw std::runtime_error("a simulated call has a wrong output");
  }
  return seconds;
}

}  // namespace rondo::device::test
