// The table of algorithms: the one place that knows them all.
// To add one: a file that imitates ring.cc, its builders' declarations in builders.h, and one row
// per collective in table.cc.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "algorithms/geometry.h"
#include "core/schedule/schedule.h"

namespace rondo {

/// What an algorithm costs the busiest rank, as formulas in P (ranks, at least 2) and
/// q = ceil(log2 P). A single rank pays nothing. N is the whole index space: all blocks where there
/// are blocks. People read the formulas. A test compares their values with the schedule's steps.
struct CostLine {
  std::string_view rounds;   ///< one message out and one in at a time, e.g. "2(P-1)"
  std::string_view hops;     ///< messages one after the other where all ports work at once
  std::string_view sent;     ///< in N, e.g. "2(P-1)/P"; a barrier has no bytes
  std::string_view reduced;  ///< elements combined, in N, e.g. "(P-1)/P"
};

/// How a block (see core/schedule/layout.h) is cut into chunks, and how it travels.
struct BlockCut {
  bool by_rank = false;    ///< one piece for each rank
  int lanes = 1;           ///< each piece again, one part for each lane
  bool bundled = false;    ///< it shares messages with other blocks, and is not cut
  bool passed_on = false;  ///< a rank sends on what it gets, slice by slice
};

struct Algorithm {
  Collective collective;
  std::string_view name;     ///< the name users force, e.g. "ring"
  std::string_view summary;  ///< one line for people
  CostLine cost;
  std::array<std::string_view, 3> phases;  ///< their names; empty ones are none
  Steps (*steps)(RankInLane at);           ///< pure: the same position, the same steps
  BlockCut cut{};
  /// All contributions to an element are combined at once, from rank 0's to rank P-1's, wherever
  /// the element lies. Reproducible reductions need this.
  bool rank_order = false;

  Schedule build(int ranks, int root) const;
  /// Chunks in the longest message of any rank. Looks at few ranks, so that it takes no long with
  /// thousands: in trees those at distances of powers of two from the root have the longest
  /// messages, elsewhere all are alike.
  int longest_message(int ranks, int root) const;
};

/// All rows, grouped by collective, the default choice for large sizes first.
std::span<const Algorithm> algorithms();

/// nullptr where no row matches.
const Algorithm* find_algorithm(Collective collective, std::string_view name);

}  // namespace rondo
