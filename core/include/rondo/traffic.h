// How much a communicator has sent, to compare an algorithm's formula with what really moved.
#pragma once

#include <cstdint>

namespace rondo {

/// What a rank has sent to other ranks in a communicator.
///
/// A *message* is one send of the schedule. A transport may cut a message into several *frames*,
/// each with a header. In shared memory data also moves directly, without frames. Then these values
/// count, once for each peer:
/// - values that a peer reads from this rank: its input, or a result that it made
/// - values that this rank stores into a peer's memory
///
/// So the payload of a call, added up over the ranks, is what crosses from rank to rank, however it
/// is carried. For an all-reduce of N bytes on P ranks, each rank sends:
/// - ring and two_shot: 2(P-1)/P N
/// - one_shot: (P-1) N
///
/// Not counted:
/// - copies that a rank makes for itself: for a call in place, into a staging buffer, to itself
/// - everything outside of frames: flags, the control connection, a network's own headers
///
/// Rounds are not a property of one rank. In algorithms where a rank sends one message in each
/// round, such as rings, messages are rounds.
struct Traffic {
  std::uint64_t messages = 0;       ///< also the empty ones of barriers
  std::uint64_t frames = 0;         ///< parts of messages; none where data moves directly
  std::uint64_t payload_bytes = 0;  ///< of all messages, direct ones too
  std::uint64_t header_bytes = 0;   ///< of all frames
  std::uint64_t direct_bytes = 0;   ///< the part of payload_bytes that moved without frames

  friend bool operator==(const Traffic&, const Traffic&) = default;
  /// What was sent between two calls of traffic().
  friend constexpr Traffic operator-(const Traffic& after, const Traffic& before) {
    return {after.messages - before.messages, after.frames - before.frames,
            after.payload_bytes - before.payload_bytes, after.header_bytes - before.header_bytes,
            after.direct_bytes - before.direct_bytes};
  }
};

}  // namespace rondo
