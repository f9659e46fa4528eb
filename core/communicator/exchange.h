// An all_to_all_v as what it is made of: a message each way between each pair of ranks, as no rank
// knows the others' counts. Empty messages are sent, too, so that a rank that expects something
// learns that nothing comes.
#pragma once

#include <cstddef>
#include <vector>

#include "core/communicator/state.h"

namespace rondo::detail {

/// One rank's part.
struct Exchange {
  const void* input = nullptr;
  void* output = nullptr;
  DataType type = DataType::uint8;
  Blocks sent{};
  Blocks received{};
};

/// Throws Error{invalid_argument} that says what is wrong: lists of another length, places beyond
/// the address space, no memory, blocks that overlap what is written, own blocks that differ.
/// `in_host_memory`: that it is there can be looked at.
void check_exchange(const Exchange& exchange, int rank, int ranks, bool in_host_memory = false);

/// The exchange as the ranks log it: what they have in common.
Call call_of(const Exchange& exchange);

struct PairMessage {
  Message message{};
  const void* input = nullptr;  ///< of a message that is sent
  void* output = nullptr;       ///< of a message that is received
};
/// Nearest neighbours first, so that not all send to one rank. The messages to this rank come last.
std::vector<PairMessage> messages_of(const Exchange& exchange, int rank);

/// The same messages as short ops, still without fingerprints: sends from the next rank up, the own
/// block, receives from the previous rank down. The channels carry the same as with an operation for
/// each message, so every rank is free to choose either. False where a block has more than
/// `most_bytes`.
bool shorten(const Exchange& exchange, int rank, std::size_t most_bytes, PreparedCall& into);
/// Copies the block that stays on this rank.
void copy_own_block(const Exchange& exchange, int rank);

}  // namespace rondo::detail
