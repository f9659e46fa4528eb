// One op by the low-latency protocol: every thread takes packets as they come, combines them and
// sends the result on. There is no barrier until the end of the op.
#pragma once

#include "kernels/device/lane_view.h"
#include "kernels/device/packets.h"
#include "kernels/device/team.h"

namespace rondo::device {

template <class Team, class E>
class LowLatencyOp {
 public:
  /// E is the call's type, or as wide an integer where bits are copied.
  RONDO_DEVICE LowLatencyOp(Team& team, const LaneView& view, const Recipe& recipe,
                            const DeviceOp& op, std::uint64_t pass)
      : team_(team), view_(view), recipe_(recipe), op_(op), pass_(pass) {}

  /// False when a wait was ended; for all threads of the team alike.
  RONDO_DEVICE bool run() {
    bool whole = true;
    for (std::uint32_t k = 0; k < op_.sends; ++k) whole = take_slot(k) && whole;
    std::uint64_t packets = 0;
    for (std::uint32_t piece = 0; piece < op_.extent_count; ++piece) {
      const std::uint64_t count = view_.elements(op_, piece, pass_);
      if (whole) whole = move_piece(piece, count);
      packets += count;
    }
    // A message without data is one packet without elements: the peer must hear of it.
    if (packets == 0 && whole && team_.lane() == 0) whole = move_packet(0, 0, 0);
    if (team_.any(!whole)) return false;
    return_credits();
    return true;
  }

 private:
  using P = Payload<E>;

  /// Waits until message `step` to `peer` has a free slot.
  RONDO_DEVICE bool await_credit(std::uint32_t peer, std::uint64_t step) const {
    const std::uint64_t* credit = view_.to(peer).credit;
    const std::uint64_t depth = view_.sizes.arena.depth;
    // Acquire: the receiver has read what the slot held before.
    return wait_until(*view_.context.control,
                      view_.waiting_for(Awaited::credit, peer, op_, pass_, step),
                      [&] { return load_acquire(credit) + depth > step; });
  }

  /// Gives the slots of the messages back, once all threads of the team have read them.
  RONDO_DEVICE void return_credits() const {
    for (std::uint32_t j = team_.lane(); j < op_.operands; j += team_.lanes()) {
      const DeviceOperand& operand = view_.operand(op_, j);
      if (operand.peer < 0) continue;
      // Release: pairs with await_credit().
      store_release(view_.from(static_cast<std::uint32_t>(operand.peer)).credit,
                    view_.step_from(operand, pass_) + 1);
    }
  }

  /// A slot of a peer, and the flag that its next packets have.
  struct Slot {
    Packet* packets;
    std::uint32_t flag;
  };
  RONDO_DEVICE Slot slot_of(const DeviceSend& send) const {
    const std::uint64_t step = view_.step_to(send, pass_);
    return {view_.packets(view_.to(send.peer), step), flag_of(view_.sizes.arena, step)};
  }

  /// For send k. Every thread waits by itself: all look at one word, which costs less than a barrier.
  RONDO_DEVICE bool take_slot(std::uint32_t k) {
    const DeviceSend& send = view_.send(op_, k);
    const std::uint64_t step = view_.step_to(send, pass_);
    const bool free = await_credit(send.peer, step);
    const Slot slot = slot_of(send);
    if (k == 0) first_ = slot;
    if (!wipe_due(view_.sizes.arena, step)) return free;
    for (std::uint32_t i = team_.lane(); free && i < view_.sizes.arena.packets; i += team_.lanes())
      store_pair_relaxed(slot.packets + i, {});
    team_.synchronize();  // before any thread writes what another has wiped
    return free;
  }

  RONDO_DEVICE bool move_piece(std::uint32_t piece, std::uint64_t count) {
    for (std::uint64_t i = team_.lane(); i * P::lanes < count; i += team_.lanes()) {
      if (!move_packet(piece, i, count - i * P::lanes)) return false;
    }
    return true;
  }

  /// Packet i of a piece, whose last packets have `count` elements left.
  RONDO_DEVICE bool move_packet(std::uint32_t piece, std::uint64_t i, std::uint64_t count) {
    const std::uint64_t in_message = piece * (view_.slice_bytes() / packet_payload) + i;
    const std::uint64_t offset = i * packet_payload;
    PayloadSum<E> sum(recipe_);
    for (std::uint32_t j = 0; j < op_.operands; ++j) {
      const DeviceOperand& operand = view_.operand(op_, j);
      if (operand.peer < 0) {
        sum.add(P::load(view_.local(operand.chunk, piece, pass_) + offset, count),
                operand.chunk.buffer == Buffer::input);
        continue;
      }
      std::uint64_t bits = 0;
      if (!await_packet(operand, in_message, bits)) return false;
      sum.add(P::elements(bits), false);
    }
    const auto result = sum.result();
    if (op_.writes != 0) P::store(view_.local(op_.into, piece, pass_) + offset, count, result);
    for (std::uint32_t k = 0; k < op_.sends; ++k) {
      const Slot slot = k == 0 ? first_ : slot_of(view_.send(op_, k));
      put_packet(slot.packets + in_message, P::bits(result), slot.flag);
    }
    return true;
  }

  RONDO_DEVICE bool await_packet(const DeviceOperand& operand, std::uint64_t in_message,
                                 std::uint64_t& bits) const {
    const auto peer = static_cast<std::uint32_t>(operand.peer);
    const std::uint64_t step = view_.step_from(operand, pass_);
    const Packet* packet = view_.packets(view_.from(peer), step) + in_message;
    const std::uint32_t flag = flag_of(view_.sizes.arena, step);
    WordPair words;
    const bool arrived = wait_until(
        *view_.context.control, view_.waiting_for(Awaited::message, peer, op_, pass_, step), [&] {
          words = load_pair_relaxed(packet);
          return has_flag(words, flag);
        });
    bits = payload_of(words);
    return arrived;
  }

  Team& team_;
  const LaneView& view_;
  const Recipe& recipe_;
  const DeviceOp& op_;
  std::uint64_t pass_;
  Slot first_{};  ///< of the first send, and mostly the only one: it stays in registers
};

}  // namespace rondo::device
