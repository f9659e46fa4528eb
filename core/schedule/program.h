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
// Where ranks share memory, merging (core/plan/merge.h) makes places of messages: an operand may be
// a chunk in a peer's memory, and the result may go to the outputs of peers, too:
//
//   {place, local, place, ...} -> into, and `into` of other ranks
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
  std::int32_t peer = -1;  ///< >= 0: the next message from this rank in the op's lane, or a place
  Chunk chunk{};           ///< local operand or place; of a channel operand only first and count
  bool in_place = false;   ///< `chunk` lies in the peer's memory

  bool is_channel() const { return peer >= 0 && !in_place; }
  bool is_local() const { return peer < 0; }
  friend auto operator<=>(const Operand&, const Operand&) = default;
};

/// An op may start once op `on` of the same pass is complete, or of the pass before.
struct Dependency {
  std::uint32_t on = 0;
  bool previous_pass = false;
  bool same_channel = false;  ///< both use one, whose messages keep their order; else for memory
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

/// Where the places of a merged program lie.
enum class Places : std::uint8_t {
  copies,  ///< each rank copies its input, and results that are shown, to memory only it writes
  buffers  ///< in the callers' own buffers
};

/// Another rank's use of a chunk of this rank's memory.
struct Use {
  std::int32_t rank = 0;
  Chunk chunk{};
  bool stores = false;  ///< it writes there; else it reads
  friend bool operator==(const Use&, const Use&) = default;
};

struct Op {
  std::uint32_t first_operand = 0;  ///< into Program::operands
  std::uint32_t operands = 0;
  std::uint32_t first_dependency = 0;  ///< into Program::dependencies
  std::uint32_t dependencies = 0;
  std::uint32_t first_store = 0;  ///< into Program::stores
  std::uint32_t stores = 0;       ///< ranks whose `into` takes the result, too
  std::int32_t out_peer = -1;     ///< < 0: no message leaves
  std::uint16_t lane = 0;
  std::uint16_t phase = 0;
  std::uint32_t round = 0;
  bool writes = false;  ///< `into` is valid
  bool last = false;    ///< and an output chunk that no later op of the pass reads
  /// For an op that sends a local chunk unchanged: a later op writes there, or the memory is
  /// scratch, so channels that hold places must not send from it.
  bool rewritten = false;
  std::uint16_t stage = 0;  ///< of a merged program
  bool shown = false;       ///< and peers read `into` in a later stage
  Chunk into{};             ///< of this rank and of `stores`
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
///
/// A merged program has no channels. Its ops run in order, and in stages: a rank begins a stage when
/// the ranks whose memory its ops touch have ended the stage before. Before the first stage they
/// have begun the call. In buffers a rank leaves when all ranks that use its memory have ended their
/// last stage.
struct Program {
  std::vector<Op> ops{};
  std::vector<Operand> operands{};
  std::vector<Dependency> dependencies{};
  std::vector<std::int32_t> stores{};
  std::vector<Use> uses{};  ///< of this rank's memory, by other ranks
  int stages = 0;           ///< of a merged program, the same on all ranks; 0: it has channels
  Places places = Places::buffers;
  int lanes = 1;
  int depth = 2;  ///< messages a channel must hold; fusion needs 2 where the schedule needs 1
  int scratch_slots = 0;  ///< each as large as the index space

  std::span<const Operand> operands_of(const Op& op) const {
    return {operands.data() + op.first_operand, op.operands};
  }
  std::span<const Dependency> dependencies_of(const Op& op) const {
    return {dependencies.data() + op.first_dependency, op.dependencies};
  }
  std::span<const std::int32_t> stores_of(const Op& op) const {
    return {stores.data() + op.first_store, op.stores};
  }
};

/// The ranks whose memory the ops of a merged program's stage touch, in the order of first touch.
std::vector<std::int32_t> touched(const Program& program, int stage);

}  // namespace rondo
