// One op by the bulk protocol: wait for whole frames, combine them by 16-byte vectors, publish.
//
//   lanes share the waits | barrier | all combine | barrier | release head and credits
//
// The first barrier passes what one thread acquired to the others. The second one passes what all
// wrote to the thread that releases.
#pragma once

#include "kernels/device/lane_view.h"
#include "kernels/device/packets.h"
#include "kernels/device/team.h"

namespace rondo::device {

template <class Team>
class BulkOp {
 public:
  RONDO_DEVICE BulkOp(Team& team, const LaneView& view, const Recipe& recipe, const ImageOp& op,
                      std::uint64_t pass)
      : team_(team), view_(view), recipe_(recipe), op_(op), pass_(pass) {}

  /// False when a wait was ended; for all threads of the team alike.
  RONDO_DEVICE bool run() {
    const bool arrived = await_messages();
    place_sources(0);
    if (team_.any(!arrived)) return false;
    if (op_.out_peer >= 0) wipe();
    for (std::uint32_t piece = 0; piece < op_.extent_count; ++piece) {
      if (piece > 0) next_piece(piece);
      combine(piece);
    }
    team_.synchronize();
    publish();
    return true;
  }

 private:
  RONDO_DEVICE bool await_messages() const {
    bool arrived = true;
    for (std::uint32_t j = team_.lane(); j <= op_.operands; j += team_.lanes())
      arrived = (j < op_.operands ? await_frame(view_.operand(op_, j)) : await_slot()) && arrived;
    return arrived;
  }
  RONDO_DEVICE bool await_slot() const {
    return op_.out_peer < 0 || await_credit(view_, op_, pass_, view_.step_to(op_, pass_));
  }
  RONDO_DEVICE bool await_frame(const ImageOperand& operand) const {
    if (operand.peer < 0) return true;
    const auto peer = static_cast<std::uint32_t>(operand.peer);
    const std::uint64_t step = view_.step_from(operand, pass_);
    const std::uint64_t* head = view_.from(peer).head;
    // Acquire: pairs with publish().
    return wait_until(*view_.context.control,
                      view_.waiting_for(Awaited::message, peer, op_, pass_, step),
                      [&] { return load_acquire(head) > step; });
  }

  /// Lane j finds operands j, j + lanes, ... All lanes see them after the next barrier.
  RONDO_DEVICE void place_sources(std::uint32_t piece) {
    for (std::uint32_t j = team_.lane(); j < op_.operands; j += team_.lanes()) {
      const ImageOperand& operand = view_.operand(op_, j);
      Source& source = team_.memory().sources[j];
      if (operand.peer >= 0) {
        const ChannelEnd end = view_.from(static_cast<std::uint32_t>(operand.peer));
        source = {view_.frame(end, view_.step_from(operand, pass_)) + piece * view_.slice_bytes(),
                  false};
      } else {
        source = {view_.local(operand.chunk, piece, pass_), operand.chunk.buffer == Buffer::input};
      }
    }
  }
  RONDO_DEVICE void next_piece(std::uint32_t piece) {
    team_.synchronize();  // all have read the places of the piece before
    place_sources(piece);
    team_.synchronize();
  }

  /// Wipes a slot of packets when its turn comes, although this message does not use it.
  RONDO_DEVICE void wipe() const {
    const std::uint64_t step = view_.step_to(op_, pass_);
    if (!wipe_due(view_.image.arena, step)) return;
    Packet* packets = view_.packets(view_.to(static_cast<std::uint32_t>(op_.out_peer)), step);
    for (std::uint32_t i = team_.lane(); i < view_.image.arena.packets; i += team_.lanes())
      store_pair_relaxed(packets + i, {});
  }

  RONDO_DEVICE void combine(std::uint32_t piece) const {
    const std::uint64_t count = view_.elements(op_, piece, pass_);
    if (count == 0) return;
    std::byte* slot = nullptr;
    if (op_.out_peer >= 0) {
      const ChannelEnd end = view_.to(static_cast<std::uint32_t>(op_.out_peer));
      slot = view_.frame(end, view_.step_to(op_, pass_)) + piece * view_.slice_bytes();
    }
    std::byte* kept = op_.writes != 0 ? view_.local(op_.into, piece, pass_) : nullptr;
    if (kept == nullptr && slot == nullptr) return;
    const Targets targets{kept != nullptr ? kept : slot, kept != nullptr ? slot : nullptr};
    combine_any(recipe_, {team_.memory().sources, op_.operands}, targets, count,
                {team_.lane(), team_.lanes()});
  }

  RONDO_DEVICE void publish() const {
    if (op_.out_peer >= 0 && team_.lane() == 0) {
      // Release: what the team wrote to the frame before the barrier. Pairs with await_frame().
      store_release(view_.to(static_cast<std::uint32_t>(op_.out_peer)).head,
                    view_.step_to(op_, pass_) + 1);
    }
    return_credits(team_, view_, op_, pass_);
  }

  Team& team_;
  const LaneView& view_;
  const Recipe& recipe_;
  const ImageOp& op_;
  std::uint64_t pass_;
};

}  // namespace rondo::device
