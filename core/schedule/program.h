// Op: the general form of a move, and Program: one rank's ops, lowered from a Schedule.
//
//   operand, operand, ... --(op)--> into (optional)
//                          \------> out channel (optional)
//
// An operand is a local chunk or the next message of an in-channel. Every semantic step is an op:
//
//   send      {local} -> out
//   receive   {channel} -> into
//
// Fusion only makes ops larger:
//
//   receive_reduce_send    {channel, local} -> out
//   a one-shot reduction   {channel, local, channel, ...} -> into
//
// All operands of an op, `into` and the message on the out channel are `extent` long. Operands
// combine from left to right, rounded once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/schedule/layout.h"
#include "core/schedule/step.h"

namespace rondo {

struct Operand {
  std::int32_t peer = -1;  ///< >= 0: the next message from this rank in the op's lane
  Chunk chunk{};  ///< local operand; of a channel operand only first and count (its extent)

  bool is_channel() const { return peer >= 0; }
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// An op may start once op `on` of the same pass is complete, or of the pass before.
struct Dependency {
  std::uint32_t on = 0;
  bool previous_pass = false;
  bool same_channel = false;  ///< both use one, whose messages keep their order; else for memory
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

struct Op {
  std::uint32_t first_operand = 0;  ///< into Program::operands
  std::uint32_t operands = 0;
  std::uint32_t first_dependency = 0;  ///< into Program::dependencies
  std::uint32_t dependencies = 0;
  std::int32_t out_peer = -1;  ///< < 0: no message leaves
  std::uint16_t lane = 0;
  std::uint16_t phase = 0;
  std::uint32_t round = 0;
  bool writes = false;  ///< `into` is valid
  bool last = false;    ///< and an output chunk that no later op of the pass reads
  /// For an op that sends a local chunk unchanged: a later op writes there, or the memory is
  /// scratch, so channels that hold places must not send from it.
  bool rewritten = false;
  Chunk into{};
  /// The chunks whose elements the op works on; only first and count matter. It wraps after the
  /// last chunk where a run of the op does.
  Chunk extent{};
};

/// Ops of all lanes; within a lane in an order that is free of deadlock at `depth`.
///
/// An executor runs the program in passes: pass p moves the p-th slice of every chunk, slices being
/// so short that each message is one frame. Frames are therefore the messages that the verifier
/// counts. Executors may run ops ahead of the order, and passes ahead of each other, where
/// dependencies (which include the order of messages on each channel) allow: that only removes
/// waits, so it cannot add a deadlock.
///
/// Passes may also go side by side, k at a time: of each op first one pass's, then the next one's,
/// all with scratch of their own. That is the same order with every message cut in k, so channels
/// that hold k times `depth` frames keep it free of deadlock.
struct Program {
  std::vector<Op> ops{};
  std::vector<Operand> operands{};
  std::vector<Dependency> dependencies{};
  int lanes = 1;
  int depth = 2;  ///< messages a channel must hold; fusion needs 2 where the schedule needs 1
  int scratch_slots = 0;  ///< each as large as the index space

  std::span<const Operand> operands_of(const Op& op) const {
    return {operands.data() + op.first_operand, op.operands};
  }
  std::span<const Dependency> dependencies_of(const Op& op) const {
    return {dependencies.data() + op.first_dependency, op.dependencies};
  }
};

}  // namespace rondo
