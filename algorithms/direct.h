// What every rank does who talks to every other: pieces of one_shot, two_shot and linear. Block p
// belongs to rank p. Peers are taken from the next rank on, so that not all press on one.
#pragma once

#include "core/schedule/steps.h"

namespace rondo {

/// `value` to everyone else.
Steps tell_everybody(int rank, int ranks, Chunk value, int phase);
/// Each peer's block of the input to its owner.
Steps send_blocks(int rank, int ranks, int phase);
/// Everyone else's message, each into the sender's block of the output.
Steps receive_blocks(int rank, int ranks, int phase);
/// `into` = the input at the same chunk and everyone else's message, combined at once in the order
/// of ranks. Scratch slot p holds rank p's contribution.
Steps combine(int rank, int ranks, Chunk into, int phase);

}  // namespace rondo
