// What a script says, before ranks and root are known. Private to core/schedule.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/schedule/formula.h"
#include "core/schedule/schedule.h"
#include "core/schedule/step.h"

namespace rondo {

/// Names that every script knows, in the order of their values. Those of a section follow.
enum class Known : std::uint8_t { ranks, root, hosts, rounds, end };
inline constexpr const char* known_name_list[] = {"P", "root", "H", "q"};

inline constexpr int most_ranks_of_script = 1 << 20;

/// A number as it is written, and where. Most are constants, so these take no memory besides.
struct WrittenNumber {
  double constant = 0;
  std::int32_t formula = -1;  ///< into ParsedScript::formulas; below 0: it is the constant
  std::int32_t line = 0;
  std::uint32_t column = 1;
};

struct WrittenChunk {
  Buffer buffer = Buffer::input;
  bool slots = false;  ///< several: up to last_slot
  bool run = false;    ///< several: up to last
  WrittenNumber slot{};
  WrittenNumber last_slot{};
  WrittenNumber first{};
  WrittenNumber last{};
};

struct WrittenStep {
  StepKind kind = StepKind::copy;
  Order order = Order::received_first;
  WrittenNumber peer{};
  WrittenChunk from{};
  WrittenChunk into{};
};

/// Blocks are jumps: a loop is {loop, ..., again}, a condition {branch, ..., jump, ...}.
struct Statement {
  enum class Kind : std::uint8_t { step, label, let, loop, again, branch, jump };
  Kind kind = Kind::step;
  bool names_phase = false;  ///< label; else the phase stays
  std::uint16_t phase = 0;   ///< label
  std::uint32_t place = 0;   ///< of the value: let, loop, again. The loop's end is kept behind it
  std::uint32_t step = 0;    ///< into ParsedScript::steps
  std::uint32_t target = 0;  ///< loop: behind `again`; again: behind `loop`; branch, jump
  WrittenNumber value{};     ///< label: the round; let; loop: from; branch: the condition
  WrittenNumber last{};      ///< loop: to
};

/// The statements of the ranks and lanes that it is for.
struct Section {
  bool every_rank = false;  ///< the rank's number is a value, at `rank_place`; else it is `rank`
  bool every_lane = false;
  std::uint32_t rank_place = 0;
  std::uint32_t lane_place = 0;
  WrittenNumber rank{};
  WrittenNumber lane{};
  std::uint32_t begin = 0;  ///< into ParsedScript::statements
  std::uint32_t end = 0;
  std::vector<std::string> names{};  ///< of the values, for people; "" of a loop's end
};

struct ParsedScript {
  std::string source{};
  std::set<std::string> header{};  ///< the words of its lines
  Collective collective = Collective::all_reduce;
  std::string algorithm{};
  int least_ranks = 0;
  int most_ranks = 0;
  bool any_root = false;
  int hosts_line = 0;  ///< of the last formula that asks for hosts; 0: nobody looks where ranks are
  std::size_t least_bytes = 0;
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
  WrittenNumber root{};
  WrittenNumber when{1};
  WrittenNumber lanes{1};
  WrittenNumber depth{1};
  WrittenNumber parts{1};
  std::vector<std::string> phases{};
  std::vector<Section> sections{};
  std::vector<Statement> statements{};
  std::vector<WrittenStep> steps{};
  std::vector<Formula> formulas{};

  /// Verdicts ("is wrong for ..."), by root, number of ranks and, if needed, the host of each; empty: it
  /// is right.
  using Verdicts = std::map<std::pair<int, std::vector<int>>, std::string>;
  mutable std::mutex verdicts_lock{};
  mutable Verdicts verdicts{};
};

}  // namespace rondo
