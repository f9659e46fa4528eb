// Steps of a rank that talks to every other rank: parts of one_shot, two_shot and linear. Block p
// belongs to rank p. Each rank begins with the next rank, so that they do not all send to one.
#pragma once

#include "algorithms/geometry.h"
#include "core/schedule/steps.h"

namespace rondo {

/// Sends `value` to every other rank.
Steps tell_everybody(RankInLane at, Chunk value, int phase);
/// Sends each peer's block of the input to its owner.
Steps send_blocks(RankInLane at, int phase);
/// Receives a message from every other rank, each into the sender's block of the output.
Steps receive_blocks(RankInLane at, int phase);
/// Combines this rank's input and the messages of all other ranks at once, in rank order, and puts
/// the result into `into`. The input is taken at the same chunk. Scratch slot p holds rank p's
/// contribution.
Steps combine(RankInLane at, Chunk into, int phase);

}  // namespace rondo
