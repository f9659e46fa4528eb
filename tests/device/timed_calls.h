// Calls on machines that only exist as a model (timed_run.h).
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core/resident/form.h"
#include "tests/device/programs.h"
#include "tests/device/small_calls.h"
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
  /// Not null: its merged program, in windows.
  const Sharing* windows = nullptr;

  Lowered lowered() const {
    return windows == nullptr ? Lowered(*row, ranks, 0)
                              : Lowered::merged(*row, ranks, 0, *windows).value();
  }
};

inline std::vector<OwnedBytes> owned_bytes(const HostGroup& group, const ProgramRanks& ranks) {
  std::vector<OwnedBytes> all;
  for (std::uint32_t rank = 0; rank < group.shape().ranks; ++rank) {
    all.push_back({group.arenas()[rank], ArenaPlaces(group.shape()).bytes(), rank});
    for (const std::span<const std::byte> bytes : ranks.memory(rank))
      all.push_back({bytes.data(), bytes.size(), rank});
  }
  return all;
}

/// A call's contexts, with marks that a host looks at.
class MarkedRanks {
 public:
  explicit MarkedRanks(const ProgramRanks& ranks, std::uint32_t count) : words_(count) {
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      Words& mine = words_[rank];
      contexts_.push_back(ranks.context(rank));
      contexts_.back().marks = {.blocks_ended = &mine.blocks_ended,
                                .begun = {{&mine.begun, 1}},
                                .ended = {{&mine.ended, 1}}};
    }
  }
  const RankContext& operator[](std::size_t rank) const { return contexts_[rank]; }

 private:
  struct Words {
    std::uint64_t blocks_ended = 0;
    std::uint32_t begun = 0;
    std::uint32_t ended = 0;
  };
  std::vector<Words> words_;
  std::vector<RankContext> contexts_{};
};

/// Its seconds, from the begin of the kernels to the end of the last one, once the same call has
/// been made before: the first message of a channel wipes its packets. Throws std::runtime_error
/// where an output is wrong.
inline double seconds_of(const TimedCall& call, const Machine& machine) {
  const Lowered lowered = call.lowered();
  HostGroup group(resident::arena_shape(call.ranks, call.stripes));
  for (int rank = 0; rank < call.ranks; ++rank) group.control(rank).patience = 10'000'000;
  ProgramRanks ranks(lowered, group,
                     {.count = call.bytes / sizeof(float), .protocol = call.protocol}, 0);
  const std::vector<OwnedBytes> memory = owned_bytes(group, ranks);
  const std::uint32_t teams = ranks.teams();
  const MarkedRanks marked(ranks, group.shape().ranks);
  double seconds = 0;
  for (int turn = 0; turn < 2; ++turn) {
    seconds = run_timed(machine, memory, group.shape().ranks, teams, call.threads,
                        [&](HostTeam& team, std::uint32_t number) {
                          const RankContext& context = marked[number / teams];
                          mark_begin(team, context.marks, number % teams);
                          run_lane_until_taken(team, context, number % teams);
                          mark_end(team, context.marks, teams);
                        });
  }
  const std::string wrong = ranks.wrong();
  if (!wrong.empty()) throw std::runtime_error(wrong);
  return seconds;
}

/// The same of an all-reduce by hand, which `choice` is.
inline double seconds_of(const resident::Choice& choice, int ranks, std::size_t bytes,
                         const Machine& machine) {
  HostGroup group(resident::arena_shape(ranks, resident::most_stripes));
  for (int rank = 0; rank < ranks; ++rank) group.control(rank).patience = 10'000'000;
  SmallRanks calls(
      group, {.algorithm = choice.small, .count = bytes / sizeof(float), .stripes = choice.stripes},
      0);
  std::vector<OwnedBytes> memory;
  for (std::uint32_t rank = 0; rank < group.shape().ranks; ++rank)
    memory.push_back({group.arenas()[rank], ArenaPlaces(group.shape()).bytes(), rank});
  double seconds = 0;
  for (int turn = 0; turn < 3; ++turn) {  // the first two calls wipe mailboxes
    // As many threads as there are: each packet's latency counts.
    seconds = run_timed(machine, memory, group.shape().ranks, choice.stripes,
                        machine.threads_of_team, [&](HostTeam& team, std::uint32_t number) {
                          calls.run(team, number / choice.stripes, number % choice.stripes);
                        });
  }
  const std::string wrong = calls.wrong();
  if (!wrong.empty()) throw std::runtime_error(wrong);
  return seconds;
}

}  // namespace rondo::device::test
