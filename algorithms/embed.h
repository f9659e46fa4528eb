// Embedding: the steps of an algorithm that runs on some of the ranks, as steps of all of them.
#pragma once

#include <vector>

#include "algorithms/table.h"

namespace rondo {

/// The chunks of the whole that are one chunk of a part: several runs where they do not lie side by
/// side, none where there is nothing.
using Spans = std::vector<ChunkSpan>;

/// Adds chunks behind the others.
void add(Spans& spans, ChunkSpan next);

/// What an algorithm that runs on some of the ranks calls by its own names.
struct Part {
  std::vector<int> ranks{};     ///< by the part's ranks
  std::vector<Spans> chunks{};  ///< by the part's chunks
  Chunk input{};                ///< the buffers and scratch slots
  Chunk output{};
  int first_scratch = 0;
  int phase = 0;
  int total = 1;  ///< chunks of the whole, after the last of which comes 0
};

/// The part's steps as steps of the whole. A message whose chunks do not lie side by side becomes
/// several. Those of a round take turns, first runs first, so that no channel has to hold two.
Steps embedded(Part part, Steps steps);

/// The same for a part of one chunk, which is one run: `most` chunks of the whole at a time. Only the
/// run at hand is in memory: with hundreds of hosts there are hundreds.
Steps in_runs(Part part, int most, const Algorithm& row, RankInLane at);

}  // namespace rondo
