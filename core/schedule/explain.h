// The explainer: what happens in a schedule, round by round, as a value, and that value as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"

namespace rondo {

/// What one chunk holds, in the numbering of the rank that it came from.
struct Piece {
  int chunk = -1;                   ///< -1: nothing
  std::uint32_t count = 0;          ///< contributions in it
  std::vector<int> contributors{};  ///< ascending

  friend bool operator==(const Piece&, const Piece&) = default;
};

struct ExplainedMessage {
  int from = 0;
  int to = 0;
  int lane = 0;
  std::vector<Piece> pieces{};
};

/// What a step left in memory.
struct ExplainedResult {
  int rank = 0;
  int lane = 0;
  Buffer buffer = Buffer::output;
  bool reduced = false;  ///< combined from several operands
  std::vector<Piece> pieces{};
};

struct RankTotal {
  std::uint64_t messages = 0;  ///< sent
  double sent = 0;             ///< in units of the whole index space N

  friend bool operator==(const RankTotal&, const RankTotal&) = default;
};

/// Steps of all ranks with one label, in the order of phases and rounds.
struct ExplainedRound {
  int phase = 0;
  std::uint32_t round = 0;  ///< from 0, within the phase
  std::uint64_t message_count = 0;
  std::vector<ExplainedMessage> messages{};  ///< by sender, then in sending order
  std::vector<ExplainedResult> results{};    ///< by rank, then in the order of writing
  std::vector<RankTotal> totals{};           ///< per rank, up to and with this round
};

struct Explanation {
  Schedule header{};      ///< without steps
  bool detailed = false;  ///< messages and results are kept (up to 64 ranks)
  std::vector<ExplainedRound> rounds{};
  std::vector<std::vector<Piece>> outputs{};  ///< per rank, the held output chunks; when detailed
  std::vector<RankTotal> totals{};
  CostCounts counts{};
  std::vector<std::string> findings{};  ///< the verifier's: empty when the schedule is right
};

/// Explains wrong schedules too, as far as they go; `findings` says what is wrong.
Explanation explain(const Schedule& schedule);

/// Formulas to show beside what was counted; empty ones are left out.
struct CostFormulas {
  std::string_view rounds{};
  std::string_view hops{};
  std::string_view sent{};
  std::string_view received{};
  std::string_view reduced{};
};

/// Tables of at most `width` columns for up to 8 ranks where they fit, lists where they do not,
/// sums per phase beyond.
std::string render(const Explanation& explanation, const CostFormulas& cost,
                   std::size_t width = 80);

/// What the busiest rank must do at the least, whatever the algorithm, with one port.
CostFormulas lower_bound(Collective collective);

}  // namespace rondo
