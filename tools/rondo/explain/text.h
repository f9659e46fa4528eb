// The parts that an explanation's text is made of. Private to the explainer.
#pragma once

#include <string>
#include <vector>

#include "tools/rondo/explain/explain.h"

namespace rondo::tool {

using Cells = std::vector<std::string>;  ///< one per rank

/// A cell for each round and rank.
struct RoundRows {
  std::string title{};
  std::vector<Cells> rows{};         ///< one for each of the explanation's rounds
  std::vector<std::string> notes{};  ///< said once below rows that have the same; empty: none
};

/// One row for each round, under its phase's name; as lists where it would be too wide. Empty when
/// all cells are.
std::string round_table(const Explanation& explanation, const RoundRows& rows, std::size_t width);

/// "  3  ", and how wide it is for all rounds.
std::string round_label(const Explanation& explanation, const ExplainedRound& round);

/// Messages and what they carried, by rank, up to and with each round.
std::string totals_text(const Explanation& explanation, std::size_t width);

/// What every rank holds at the start and after each round, as numbers.
std::string values_text(const Explanation& explanation, std::size_t width);

/// The cost line with numbers put in, beside what was counted and the lower bound.
std::string cost_table(const Explanation& explanation, const CostFormulas& cost, std::size_t width);

}  // namespace rondo::tool
