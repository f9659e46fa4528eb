// The calls that run on the weak memory: every algorithm, both protocols, mailboxes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/device/programs.h"
#include "tests/device/small_calls.h"
#include "tests/device/weak_run.h"

namespace rondo::device::test {

/// Looks before a wait gives up. Far more than a right run has, and quickly over in a wrong one.
inline constexpr std::uint64_t weak_patience = 20000;

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
