// The explainer: what happens in a schedule, round by round, as a value, and that value as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/op.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"
#include "tools/rondo/explain/hosts.h"

namespace rondo::tool {

/// What one chunk holds, in the numbering of the rank that it came from.
struct Piece {
  int chunk = -1;                   ///< -1: nothing
  std::uint32_t count = 0;          ///< contributions in it
  std::vector<int> contributors{};  ///< ascending
  std::vector<double> numbers{};    ///< its elements, where explain() was given inputs

  friend bool operator==(const Piece&, const Piece&) = default;
};

struct ExplainedMessage {
  int from = 0;
  int to = 0;
  int lane = 0;
  std::vector<Piece> pieces{};
  std::uint64_t bytes = 0;  ///< where sizes are known
};

/// What a step left in memory.
struct ExplainedResult {
  int rank = 0;
  int lane = 0;
  Buffer buffer = Buffer::output;
  bool reduced = false;  ///< combined from several operands
  std::vector<Piece> pieces{};
  Chunk into{};  ///< where it lies: one chunk of the run for each piece
};

struct RankTotal {
  std::uint64_t messages = 0;  ///< sent
  double sent = 0;             ///< in units of the whole index space N
  std::uint64_t bytes = 0;     ///< sent, where sizes are known

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

/// Real sizes instead of N.
struct ExplainedSizes {
  std::size_t count = 0;  ///< elements as a call counts them: of the vector, or of each block
  DataType type = DataType::float32;
};

struct ExplainOptions {
  std::optional<ExplainedSizes> sizes{};
  /// Numbers to carry through; needs sizes. By rank, as many as its input buffer holds (none where
  /// it has none). Steps that combine add them up, in float64 whatever the type.
  std::vector<std::vector<double>> inputs{};
  std::vector<ShownHost> hosts{};  ///< where the ranks live; none: not shown
  LineOf line_of{};                ///< for findings; null: the schedule is no text's
};

struct Explanation {
  Schedule header{};      ///< without steps
  bool detailed = false;  ///< messages and results are kept (up to 64 ranks)
  std::vector<ExplainedRound> rounds{};
  std::vector<std::vector<Piece>> outputs{};  ///< per rank, the held output chunks; when detailed
  std::vector<RankTotal> totals{};
  CostCounts counts{};
  std::vector<std::string> findings{};  ///< the verifier's: empty when the schedule is right
  std::optional<ExplainedSizes> sizes{};
  std::vector<std::vector<double>> inputs{};  ///< as given
  std::vector<ShownHost> hosts{};             ///< as given
  RankCost bytes{};  ///< the busiest rank's, in bytes, where sizes are known; no time
};

/// Explains wrong schedules too, as far as they go; `findings` says what is wrong. Throws
/// Error{invalid_argument} for inputs of the wrong number or without sizes.
Explanation explain(const Schedule& schedule, const ExplainOptions& options = {});

/// Where the chunks lie. Only where sizes are known.
Partition partition_of(const Explanation& explanation);

/// Formulas to show beside what was counted; empty ones are left out.
struct CostFormulas {
  std::string_view rounds{};
  std::string_view hops{};
  std::string_view sent{};
  std::string_view received{};
  std::string_view reduced{};
};

/// Tables of at most `width` columns for up to 8 ranks where they fit, lists where they do not,
/// sums per phase beyond. With sizes in bytes rather than N; with inputs also what each rank holds
/// after every round.
std::string render(const Explanation& explanation, const CostFormulas& cost,
                   std::size_t width = 80);

/// What the busiest rank must do at the least, whatever the algorithm, with one port.
CostFormulas lower_bound(Collective collective);

}  // namespace rondo::tool
