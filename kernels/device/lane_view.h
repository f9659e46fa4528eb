// LaneView: what one team needs to run: the arrays of a program, the memory of a rank, its channels.
#pragma once

#include "kernels/device/marks.h"
#include "kernels/device/program.h"
#include "kernels/device/wait.h"

namespace rondo::device {

/// The buffers of all ranks, by rank, where a merged program has places in them. Each begins where the
/// first element of the index space would lie.
struct WindowAddresses {
  std::byte* inputs[most_peers];
  std::byte* outputs[most_peers];
};

/// One rank's part of one call: sizes, and memory that its teams reach. Arenas are by rank.
struct RankContext {
  const std::byte* program = nullptr;  ///< a DeviceProgram
  const std::byte* input = nullptr;
  std::byte* output = nullptr;   ///< may be the input where the collective allows it
  std::byte* scratch = nullptr;  ///< of scratch_bytes()
  std::byte* const* arenas = nullptr;
  Control* control = nullptr;
  Sizes sizes{};
  WindowAddresses windows{};
  Marks marks{};
};

/// One end of a channel, as a team uses it.
struct ChannelEnd {
  std::byte* frames = nullptr;      ///< of the receiver's arena: `depth` of them
  Packet* packets = nullptr;        ///< likewise
  std::uint64_t* head = nullptr;    ///< written by the sender
  std::uint64_t* credit = nullptr;  ///< written by the receiver
};

class LaneView {
 public:
  /// `number`: the team's among those of its rank, lane by lane. It must be less than lanes *
  /// stripes. It also says which stripe of the arenas the team has.
  RONDO_DEVICE LaneView(const RankContext& rank_context, std::uint32_t number)
      : context(rank_context),
        program(*reinterpret_cast<const DeviceProgram*>(rank_context.program)),
        sizes(rank_context.sizes),
        places(sizes.arena),
        lane(number / sizes.stripes),
        stripe(number % sizes.stripes),
        team(number),
        shorter(sizes.shorter(stripe)),
        passes(sizes.passes + (shorter > 0 ? 1 : 0)),
        entry(array<LaneEntry>(program.lane_entries)[lane]) {}

  template <class T>
  RONDO_DEVICE const T* array(const ProgramArray& where) const {
    return reinterpret_cast<const T*>(context.program + where.begin);
  }
  RONDO_DEVICE const DeviceOp& op(std::uint32_t index) const {
    return array<DeviceOp>(program.ops)[entry.first_op + index];
  }
  RONDO_DEVICE const DeviceOperand& operand(const DeviceOp& op, std::uint32_t index) const {
    return array<DeviceOperand>(program.operands)[op.first_operand + index];
  }
  RONDO_DEVICE const DeviceSend& send(const DeviceOp& op, std::uint32_t index) const {
    return array<DeviceSend>(program.sends)[op.first_send + index];
  }

  // Pieces: the chunks of a run, which wraps after the last one, in one pass of this stripe.

  RONDO_DEVICE std::uint32_t wrapped(std::uint32_t first, std::uint32_t piece) const {
    const std::uint32_t chunk = first + piece;
    return chunk < program.chunks ? chunk : chunk - program.chunks;
  }
  /// Elements of this stripe's part of a chunk that come before its slice of this pass.
  RONDO_DEVICE std::uint64_t moved(std::uint64_t pass) const {
    return pass == 0       ? 0
           : pass < passes ? pass * sizes.slice - shorter
                           : sizes.passes * sizes.slice;
  }
  /// The same, of the whole chunk.
  RONDO_DEVICE std::uint64_t skipped(std::uint64_t pass) const {
    return stripe * sizes.passes * sizes.slice + moved(pass);
  }
  RONDO_DEVICE std::uint64_t elements(const DeviceOp& op, std::uint32_t piece,
                                      std::uint64_t pass) const {
    const std::uint32_t chunk = wrapped(op.extent_first, piece);
    const std::uint64_t size = sizes.offset(chunk + 1) - sizes.offset(chunk);
    const std::uint64_t before = skipped(pass);
    if (size <= before) return 0;
    const std::uint64_t most = moved(pass + 1) - moved(pass);
    return size - before < most ? size - before : most;
  }
  RONDO_DEVICE std::uint64_t slice_bytes() const { return sizes.slice * sizes.element_bytes; }

  /// Where a piece of a local run lies. Input is only read; one type of address keeps this single.
  RONDO_DEVICE std::byte* local(const Chunk& run, std::uint32_t piece, std::uint64_t pass) const {
    const std::uint32_t chunk = wrapped(run.first, piece);
    if (run.buffer == Buffer::scratch) {
      const std::uint64_t slot = std::uint64_t{stripe} * program.scratch_slots + run.slot;
      return context.scratch + (slot * program.chunks + chunk) * slice_bytes();
    }
    const std::uint64_t at = sizes.offset(chunk) + skipped(pass);
    if (run.buffer == Buffer::output)
      return context.output + (at - sizes.output_begin) * sizes.element_bytes;
    return const_cast<std::byte*>(context.input) + (at - sizes.input_begin) * sizes.element_bytes;
  }

  /// The same in a peer's window.
  RONDO_DEVICE std::byte* in_window(std::uint32_t peer, const Chunk& run, std::uint32_t piece,
                                    std::uint64_t pass) const {
    const std::uint64_t at = sizes.offset(wrapped(run.first, piece)) + skipped(pass);
    std::byte* const begin =
        run.buffer == Buffer::output ? context.windows.outputs[peer] : context.windows.inputs[peer];
    return begin + at * sizes.element_bytes;
  }
  /// A rank that the op stores to.
  RONDO_DEVICE std::uint32_t stored_to(const DeviceOp& op, std::uint32_t index) const {
    return array<std::uint32_t>(program.stores)[op.first_store + index];
  }

  // Meetings: words that a peer writes for this team, and that this team writes for a peer.

  RONDO_DEVICE std::uint64_t* meeting_of(std::uint32_t peer) const {
    return word(program.rank, places.meeting(places.channel(peer, team)));
  }
  RONDO_DEVICE std::uint64_t* meeting_at(std::uint32_t peer) const {
    return word(peer, places.meeting(places.channel(program.rank, team)));
  }
  /// How often this team has met.
  RONDO_DEVICE std::uint64_t* meetings() const { return word(program.rank, places.meetings(team)); }

  // Channels.

  RONDO_DEVICE ChannelEnd to(std::uint32_t peer) const { return between(program.rank, peer); }
  RONDO_DEVICE ChannelEnd from(std::uint32_t peer) const { return between(peer, program.rank); }
  RONDO_DEVICE Counters& counters(std::uint32_t peer) const {
    std::byte* arena = context.arenas[program.rank];
    return *reinterpret_cast<Counters*>(arena + places.counters(places.channel(peer, team)));
  }
  RONDO_DEVICE std::uint64_t step_to(const DeviceSend& send, std::uint64_t pass) const {
    return send.out.step(load_plain(&counters(send.peer).sent), pass);
  }
  RONDO_DEVICE std::uint64_t step_from(const DeviceOperand& operand, std::uint64_t pass) const {
    return operand.in.step(load_plain(&counters(static_cast<std::uint32_t>(operand.peer)).received),
                           pass);
  }
  RONDO_DEVICE std::uint32_t slot(std::uint64_t step) const {
    return static_cast<std::uint32_t>(step % sizes.arena.depth);
  }
  RONDO_DEVICE std::byte* frame(const ChannelEnd& end, std::uint64_t step) const {
    return end.frames + std::size_t{slot(step)} * sizes.arena.frame_bytes;
  }
  RONDO_DEVICE Packet* packets(const ChannelEnd& end, std::uint64_t step) const {
    return end.packets + std::size_t{slot(step)} * sizes.arena.packets;
  }

  /// The record of a wait in this lane.
  RONDO_DEVICE Failure waiting_for(Awaited awaited, std::uint32_t peer, const DeviceOp& op,
                                   std::uint64_t pass, std::uint64_t step) const {
    return {.awaited = awaited,
            .lane = lane,
            .stripe = stripe,
            .op = op.number,
            .peer = peer,
            .pass = pass,
            .step = step};
  }

  const RankContext& context;
  const DeviceProgram& program;
  const Sizes& sizes;
  ArenaPlaces places;
  std::uint32_t lane;
  std::uint32_t stripe;
  std::uint32_t team;
  std::uint64_t shorter;  ///< as Sizes::shorter() says
  std::uint64_t passes;   ///< of this stripe
  const LaneEntry& entry;

 private:
  RONDO_DEVICE std::uint64_t* word(std::uint32_t rank, std::size_t place) const {
    return reinterpret_cast<std::uint64_t*>(context.arenas[rank] + place);
  }
  /// Packets are those of stripes that have any.
  RONDO_DEVICE ChannelEnd between(std::uint32_t sender, std::uint32_t receiver) const {
    const std::size_t in = places.channel(sender, team);
    const std::size_t out = places.channel(receiver, team);
    std::byte* there = context.arenas[receiver];
    return {
        .frames = there + places.frames(in),
        .packets = reinterpret_cast<Packet*>(there + places.packets(sender, team)),
        .head = reinterpret_cast<std::uint64_t*>(there + places.head(in)),
        .credit = reinterpret_cast<std::uint64_t*>(context.arenas[sender] + places.credit(out))};
  }
};

}  // namespace rondo::device
