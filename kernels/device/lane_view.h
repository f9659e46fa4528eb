// LaneView: what one team needs to run: the arrays of an image, the memory of a rank, its channels.
#pragma once

#include "kernels/device/image.h"
#include "kernels/device/wait.h"

namespace rondo::device {

/// One rank in one call. Memory that its teams reach; the arenas of all ranks, by rank.
struct RankContext {
  const std::byte* image = nullptr;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;   ///< may be the input where the collective allows it
  std::byte* scratch = nullptr;  ///< scratch_bytes() of the image
  std::byte* const* arenas = nullptr;
  Control* control = nullptr;
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
  RONDO_DEVICE LaneView(const RankContext& rank_context, std::uint32_t lane_number,
                        std::uint32_t stripe_number)
      : context(rank_context),
        image(*reinterpret_cast<const Image*>(rank_context.image)),
        places(image.arena),
        entry(array<LaneEntry>(image.lane_entries)[lane_number]),
        lane(lane_number),
        stripe(stripe_number) {}

  template <class T>
  RONDO_DEVICE const T* array(const ImageArray& where) const {
    return reinterpret_cast<const T*>(context.image + where.begin);
  }
  RONDO_DEVICE const ImageOp& op(std::uint32_t index) const {
    return array<ImageOp>(image.ops)[entry.first_op + index];
  }
  RONDO_DEVICE const ImageOperand& operand(const ImageOp& op, std::uint32_t index) const {
    return array<ImageOperand>(image.operands)[op.first_operand + index];
  }

  // Pieces: the chunks of a run, which wraps after the last one, in one pass of this stripe.

  RONDO_DEVICE std::uint32_t wrapped(std::uint32_t first, std::uint32_t piece) const {
    const std::uint32_t chunk = first + piece;
    return chunk < image.chunks ? chunk : chunk - image.chunks;
  }
  /// Elements of a chunk that come before this stripe's slice of this pass.
  RONDO_DEVICE std::uint64_t skipped(std::uint64_t pass) const {
    return (pass * image.stripes + stripe) * image.slice;
  }
  RONDO_DEVICE std::uint64_t elements(const ImageOp& op, std::uint32_t piece,
                                      std::uint64_t pass) const {
    const auto* offsets = array<std::uint64_t>(image.offsets);
    const std::uint32_t chunk = wrapped(op.extent_first, piece);
    const std::uint64_t size = offsets[chunk + 1] - offsets[chunk];
    const std::uint64_t before = skipped(pass);
    if (size <= before) return 0;
    return size - before < image.slice ? size - before : image.slice;
  }
  RONDO_DEVICE std::uint64_t slice_bytes() const { return image.slice * image.element_bytes; }

  /// Where a piece of a local run lies. Input is only read; one type of address keeps this single.
  RONDO_DEVICE std::byte* local(const Chunk& run, std::uint32_t piece, std::uint64_t pass) const {
    const std::uint32_t chunk = wrapped(run.first, piece);
    if (run.buffer == Buffer::scratch) {
      const std::uint64_t slot = std::uint64_t{stripe} * image.scratch_slots + run.slot;
      return context.scratch + (slot * image.chunks + chunk) * slice_bytes();
    }
    const std::uint64_t at = array<std::uint64_t>(image.offsets)[chunk] + skipped(pass);
    if (run.buffer == Buffer::output)
      return context.output + (at - image.output_begin) * image.element_bytes;
    return const_cast<std::byte*>(context.input) + (at - image.input_begin) * image.element_bytes;
  }

  // Channels.

  RONDO_DEVICE ChannelEnd to(std::uint32_t peer) const { return between(image.rank, peer); }
  RONDO_DEVICE ChannelEnd from(std::uint32_t peer) const { return between(peer, image.rank); }
  RONDO_DEVICE Counters& counters(std::uint32_t peer) const {
    std::byte* arena = context.arenas[image.rank];
    return *reinterpret_cast<Counters*>(arena +
                                        places.counters(places.channel(peer, lane, stripe)));
  }
  RONDO_DEVICE std::uint64_t step_to(const ImageOp& op, std::uint64_t pass) const {
    return op.out.step(counters(static_cast<std::uint32_t>(op.out_peer)).sent, pass);
  }
  RONDO_DEVICE std::uint64_t step_from(const ImageOperand& operand, std::uint64_t pass) const {
    return operand.in.step(counters(static_cast<std::uint32_t>(operand.peer)).received, pass);
  }
  RONDO_DEVICE std::uint32_t slot(std::uint64_t step) const {
    return static_cast<std::uint32_t>(step % image.arena.depth);
  }
  RONDO_DEVICE std::byte* frame(const ChannelEnd& end, std::uint64_t step) const {
    return end.frames + std::size_t{slot(step)} * image.arena.frame_bytes;
  }
  RONDO_DEVICE Packet* packets(const ChannelEnd& end, std::uint64_t step) const {
    return end.packets + std::size_t{slot(step)} * image.arena.packets;
  }

  /// The record of a wait in this lane.
  RONDO_DEVICE Failure waiting_for(Awaited awaited, std::uint32_t peer, const ImageOp& op,
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
  const Image& image;
  ArenaPlaces places;
  const LaneEntry& entry;
  std::uint32_t lane;
  std::uint32_t stripe;

 private:
  RONDO_DEVICE ChannelEnd between(std::uint32_t sender, std::uint32_t receiver) const {
    const std::size_t in = places.channel(sender, lane, stripe);
    const std::size_t out = places.channel(receiver, lane, stripe);
    std::byte* there = context.arenas[receiver];
    return {
        .frames = there + places.frame(in, 0),
        .packets = reinterpret_cast<Packet*>(there + places.packets(in, 0)),
        .head = reinterpret_cast<std::uint64_t*>(there + places.head(in)),
        .credit = reinterpret_cast<std::uint64_t*>(context.arenas[sender] + places.credit(out))};
  }
};

/// Waits until message `step` to the op's out peer has a free slot.
RONDO_DEVICE inline bool await_credit(const LaneView& view, const ImageOp& op, std::uint64_t pass,
                                      std::uint64_t step) {
  const auto peer = static_cast<std::uint32_t>(op.out_peer);
  const std::uint64_t* credit = view.to(peer).credit;
  const std::uint64_t depth = view.image.arena.depth;
  // Acquire: the receiver has read what the slot held before.
  return wait_until(*view.context.control, view.waiting_for(Awaited::credit, peer, op, pass, step),
                    [&] { return load_acquire(credit) + depth > step; });
}

/// Gives the slots of the op's messages back, once all threads of the team have read them. Lane j
/// gives back those of operands j, j + lanes, ...
template <class Team>
RONDO_DEVICE inline void return_credits(Team& team, const LaneView& view, const ImageOp& op,
                                        std::uint64_t pass) {
  for (std::uint32_t j = team.lane(); j < op.operands; j += team.lanes()) {
    const ImageOperand& operand = view.operand(op, j);
    if (operand.peer < 0) continue;
    // Release: pairs with await_credit.
    store_release(view.from(static_cast<std::uint32_t>(operand.peer)).credit,
                  view.step_from(operand, pass) + 1);
  }
}

}  // namespace rondo::device
