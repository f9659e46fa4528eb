// What a communicator has sent, for those who count: formulas against what really moved.
#pragma once

#include <cstdint>

namespace rondo {

/// What a rank has sent to other ranks in a communicator. A *message* is one send of the schedule;
/// a transport may cut it into several *frames*, each behind a header. In shared memory data also
/// moves without frames: what counts there is each value that a peer fetches from this rank (its
/// input, or a result it made) and each that this rank stores into a peer's memory, once a peer. So
/// the payload of a call, added up over the ranks, is what crosses from rank to rank, whichever way
/// it takes: a ring's all-reduce of N bytes sends 2(P-1)/P N a rank, so does two_shot, and one_shot
/// (P-1) N. Copies that a rank makes for itself (in place of the call, onto the board, to itself)
/// do not count, nor does what ranks tell each other outside of frames: flags, the control
/// connection, a network's own headers. Rounds are no property of one rank; where a rank sends one
/// message a round, as in rings, messages are rounds.
struct Traffic {
  std::uint64_t messages = 0;       ///< empty ones of barriers too
  std::uint64_t frames = 0;         ///< what messages were cut into; none of the direct way
  std::uint64_t payload_bytes = 0;  ///< of messages, direct ones too
  std::uint64_t header_bytes = 0;   ///< of frames
  std::uint64_t direct_bytes = 0;   ///< of payload_bytes: those that moved without frames

  friend bool operator==(const Traffic&, const Traffic&) = default;
  /// What was sent between two looks.
  friend constexpr Traffic operator-(const Traffic& after, const Traffic& before) {
    return {after.messages - before.messages, after.frames - before.frames,
            after.payload_bytes - before.payload_bytes, after.header_bytes - before.header_bytes,
            after.direct_bytes - before.direct_bytes};
  }
};

}  // namespace rondo
