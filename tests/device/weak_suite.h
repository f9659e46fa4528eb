// What runs on the weak memory: calls of every algorithm, both protocols, mailboxes, and marks.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/device/marks.h"
#include "tests/device/programs.h"
#include "tests/device/small_calls.h"
#include "tests/device/weak_run.h"

namespace rondo::device::test {

/// Looks before a wait gives up. Far more than a right run has, and quickly over in a wrong one.
inline constexpr std::uint32_t weak_patience = 20000;

/// Runs teams on the weak memory. Keeps what was wrong, since the values may be right nonetheless.
class WeakRunner {
 public:
  explicit WeakRunner(const WeakRun& run) : run_(run) {}
  RunTeams run_teams() {
    return [this](std::uint32_t teams, std::uint32_t threads, const auto& work) {
      found_ = run_weakly(run_, teams, threads, work);
    };
  }
  /// `values`: what was wrong with them.
  std::string wrong(const std::string& values) const {
    if (values.empty() && found_.empty()) return {};
    return values + (values.empty() || found_.empty() ? "" : "; ") + found_ + "; seed " +
           std::to_string(run_.seed);
  }

 private:
  WeakRun run_;
  std::string found_{};
};

/// Calls in a row, the protocols in turn on the same channels. Sizes with an odd packet, with several
/// passes, and with none.
inline std::vector<ProgramCase> weak_programs(const Algorithm& row) {
  if (row.collective == Collective::barrier)
    return {{.count = 0, .protocol = Protocol::low_latency}, {.count = 0}, {.count = 0}};
  const bool may_alias = row.collective != Collective::all_to_all;
  return {{.count = 37, .protocol = Protocol::low_latency},
          {.count = 301, .in_place = may_alias},
          {.count = 1},
          {.count = 203, .type = DataType::bfloat16, .misaligned = 1},
          {.count = 29, .protocol = Protocol::low_latency, .in_place = may_alias},
          {.count = 0, .protocol = Protocol::low_latency},
          {.count = 75, .type = DataType::uint8, .protocol = Protocol::low_latency}};
}

/// Calls of a merged program: alike, of more elements than stripes and threads, and of fewer.
inline std::vector<ProgramCase> weak_merged_programs(const Algorithm& row) {
  const bool may_alias = row.collective != Collective::all_to_all;
  return {{.count = 301, .in_place = may_alias},
          {.count = 1},
          {.count = 0},
          {.count = 203, .type = DataType::bfloat16, .misaligned = 1},
          {.count = 75, .type = DataType::uint8, .in_place = may_alias}};
}

/// Launches of several blocks, one after the other, which meet those of a peer, and a host that looks for
/// the marks of both. Says what the host saw too early.
inline std::string wrong_marks(const WeakRun& run, std::uint32_t threads) {
  constexpr std::uint32_t blocks = 3;
  struct alignas(8) Word {
    std::uint32_t value = 0;
  };
  Word begun, ended, captured, peer_begun;
  std::uint64_t blocks_ended = 0;
  std::uint64_t met = 0;
  std::string wrong;
  for (std::uint32_t launch = 1; launch <= 2 && wrong.empty(); ++launch) {
    const Marks marks{.blocks_ended = &blocks_ended,
                      .begun = {{&begun.value, launch}, {&captured.value, 1}},
                      .ended = {{&captured.value, 0}, {&ended.value, launch}}};
    const Marks peer{.begun = {{&peer_begun.value, launch}}};
    std::vector<std::uint32_t> done(std::size_t{blocks} * threads);
    std::string values;
    const auto host = [&] {
      while (load_acquire_32(&ended.value) != launch) pause();
      if (load_acquire_32(&begun.value) != launch || load_acquire_32(&captured.value) != 0)
        values = "a launch has ended, and its other marks say something else";
      if (load_acquire_32(&peer_begun.value) != launch)
        values = "a launch that meets another one has ended, and that one has not begun";
      for (const std::uint32_t& each : done) {
        if (load_plain(&each) != launch) values = "a launch has ended, and a block has not";
      }
    };
    WeakRunner weak(run);
    weak.run_teams()(blocks + 2, threads, [&](HostTeam& team, std::uint32_t number) {
      if (number == blocks) return team.lane() == 0 ? host() : void();
      if (number == blocks + 1) {
        mark_begin(team, peer, 0);
        if (team.lane() == 0) store_release(&met, launch);
        return;
      }
      mark_begin(team, marks, number);
      if (number == 1 && team.lane() == 0)
        while (load_acquire(&met) != launch) pause();
      store_plain(&done[std::size_t{number} * threads + team.lane()], launch);
      mark_end(team, marks, blocks);
    });
    wrong = weak.wrong(values);
  }
  return wrong;
}

inline std::vector<SmallCase> weak_small_calls() {
  std::vector<SmallCase> calls;
  std::uint32_t turn = 0;
  for (const std::uint64_t count : {7, 1, 30, 0, 12, 3, 21}) {
    for (const SmallAlgorithm algorithm : {SmallAlgorithm::one_shot, SmallAlgorithm::two_shot}) {
      calls.push_back({algorithm, count, turn % 4 == 1 ? DataType::bfloat16 : DataType::float32,
                       ReduceOperator::sum, 1 + turn % 2, turn % 3 == 0});
      ++turn;
    }
  }
  return calls;
}

}  // namespace rondo::device::test
