// What each collective promises, as contributions: "rank r's input chunk c".
//
//   before   Input chunk c of rank r holds {r} of chunk c, for the chunks that the rank's input
//            buffer has (see held() in layout.h).
//   after    Every chunk of a rank's output buffer holds what expected() says.
//
// For send_recv the root is the sender and (root + 1) mod ranks the receiver. Other ranks have
// nothing to do, nor has a world of one. A barrier moves a token that only says which ranks were
// heard of.
#pragma once

#include <cstddef>
#include <optional>

#include "core/schedule/schedule.h"

namespace rondo {

struct Expectation {
  int source_chunk = 0;  ///< the input chunk, in the sender's numbering
  int first = 0;         ///< the contributors, each exactly once: this rank ...
  int ranks = 1;         ///< ... and those after it, so many in all

  bool contributes(int rank) const { return rank >= first && rank < first + ranks; }
};

/// What `output_chunk` of `rank` must hold at the end; nothing where its output has no such chunk.
std::optional<Expectation> expected(const Schedule& schedule, int rank, int output_chunk);

/// The receiver of a send_recv.
constexpr int send_recv_receiver(int root, int ranks) { return (root + 1) % ranks; }

/// A token heard twice is heard once: combining is idempotent. Only a barrier's is.
constexpr bool is_token(Collective collective) { return collective == Collective::barrier; }

/// Input and output may be the same memory, chunk by chunk.
constexpr bool may_alias(Collective collective) { return collective != Collective::all_to_all; }

/// True where the rank's buffer has every chunk of the run.
bool holds(const Schedule& schedule, int rank, const Chunk& run);

/// Throws Error{invalid_argument} unless the schedule's header makes sense: ranks, root, lanes,
/// depth and a layout with the collective's number of blocks.
void check_header(const Schedule& schedule);

}  // namespace rondo
