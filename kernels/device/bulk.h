// The bulk protocol: whole frames, combined by 16-byte vectors. A team runs its ops one by one:
//
//   lanes look at what the op needs | vote | all combine        while all is there
//   ... | vote: something is missing | publish, wait | vote | all combine
//
// To publish is to release heads (frames are whole) and credits (frames were read). A release waits
// until all the team wrote has arrived, which over a link takes as long as the link's latency. So a
// team publishes only before it waits, and at its end. It never waits with something unpublished,
// so peers wait for it no longer than if it published after every op.
//
// A vote is a barrier. It passes what one thread acquired to the others, and what all wrote to the
// threads that release.
#pragma once

#include "kernels/device/lane_view.h"
#include "kernels/device/packets.h"
#include "kernels/device/team.h"

namespace rondo::device {

template <class Team>
class BulkOps {
 public:
  /// Collective, as all member functions: all threads of the team call it.
  RONDO_DEVICE BulkOps(Team& team, const LaneView& view) : team_(team), view_(view) {
    for (std::uint32_t peer = team.lane(); peer < view.sizes.arena.ranks; peer += team.lanes())
      team.memory().unpublished[peer] = {0, 0};
    team.synchronize();
  }

  /// False when a wait was ended; for all threads of the team alike.
  RONDO_DEVICE bool run(const Recipe& recipe, const DeviceOp& op, std::uint64_t pass) {
    bool ready = true;
    for (std::uint32_t j = team_.lane(); j <= op.operands; j += team_.lanes())
      ready = is_ready(op, j, pass) && ready;
    place_sources(op, 0, pass);
    if (team_.any(!ready) && !wait(op, pass)) return false;
    note(op, pass);
    if (op.out_peer >= 0) wipe(op, pass);
    for (std::uint32_t piece = 0; piece < op.extent_count; ++piece) {
      if (piece > 0) next_piece(op, piece, pass);
      combine(recipe, op, piece, pass);
    }
    next_sources_ ^= 1;
    return true;
  }

  /// Publishes what is left. Call it once, after the last op.
  RONDO_DEVICE void end() {
    team_.synchronize();
    publish();
  }

 private:
  RONDO_DEVICE const std::uint64_t* head(const DeviceOperand& operand) const {
    return view_.from(static_cast<std::uint32_t>(operand.peer)).head;
  }

  /// Looks once. Number `operands` is the slot that the op sends in. Acquire: head and credit pair
  /// with publish().
  RONDO_DEVICE bool is_ready(const DeviceOp& op, std::uint32_t number, std::uint64_t pass) const {
    if (number == op.operands) {
      if (op.out_peer < 0) return true;
      const std::uint64_t* credit = view_.to(static_cast<std::uint32_t>(op.out_peer)).credit;
      return load_acquire(credit) + view_.sizes.arena.depth > view_.step_to(op, pass);
    }
    const DeviceOperand& operand = view_.operand(op, number);
    return operand.peer < 0 || load_acquire(head(operand)) > view_.step_from(operand, pass);
  }

  RONDO_DEVICE bool wait(const DeviceOp& op, std::uint64_t pass) {
    publish();
    bool arrived = true;
    for (std::uint32_t j = team_.lane(); j <= op.operands; j += team_.lanes()) {
      const bool slot = j == op.operands;
      if (slot && op.out_peer < 0) continue;
      if (!slot && view_.operand(op, j).peer < 0) continue;
      const auto peer = static_cast<std::uint32_t>(slot ? op.out_peer : view_.operand(op, j).peer);
      const std::uint64_t step =
          slot ? view_.step_to(op, pass) : view_.step_from(view_.operand(op, j), pass);
      const Awaited awaited = slot ? Awaited::credit : Awaited::message;
      arrived = wait_until(*view_.context.control, view_.waiting_for(awaited, peer, op, pass, step),
                           [&] { return is_ready(op, j, pass); }) &&
                arrived;
    }
    return !team_.any(!arrived);
  }

  /// What is to be published once the op is done. A peer has one message in an op (encode.h).
  RONDO_DEVICE void note(const DeviceOp& op, std::uint64_t pass) {
    for (std::uint32_t j = team_.lane(); j < op.operands; j += team_.lanes()) {
      const DeviceOperand& operand = view_.operand(op, j);
      if (operand.peer >= 0)
        team_.memory().unpublished[operand.peer].credit = view_.step_from(operand, pass) + 1;
    }
    if (op.out_peer >= 0 && team_.lane() == 0)
      team_.memory().unpublished[op.out_peer].head = view_.step_to(op, pass) + 1;
  }

  /// After a barrier. Release: pairs with is_ready(), and with the last wait in interpret.h.
  RONDO_DEVICE void publish() {
    for (std::uint32_t peer = team_.lane(); peer < view_.sizes.arena.ranks; peer += team_.lanes()) {
      Unpublished& unpublished = team_.memory().unpublished[peer];
      if (unpublished.head != 0) store_release(view_.to(peer).head, unpublished.head);
      if (unpublished.credit != 0) store_release(view_.from(peer).credit, unpublished.credit);
      unpublished = {0, 0};
    }
  }

  /// Lane j finds operands j, j + lanes, ... All lanes see them after the next barrier.
  RONDO_DEVICE void place_sources(const DeviceOp& op, std::uint32_t piece, std::uint64_t pass) {
    for (std::uint32_t j = team_.lane(); j < op.operands; j += team_.lanes()) {
      const DeviceOperand& operand = view_.operand(op, j);
      Source& source = team_.memory().sources[next_sources_][j];
      if (operand.peer >= 0) {
        const ChannelEnd end = view_.from(static_cast<std::uint32_t>(operand.peer));
        source = {view_.frame(end, view_.step_from(operand, pass)) + piece * view_.slice_bytes(),
                  false};
      } else {
        source = {view_.local(operand.chunk, piece, pass), operand.chunk.buffer == Buffer::input};
      }
    }
  }
  RONDO_DEVICE void next_piece(const DeviceOp& op, std::uint32_t piece, std::uint64_t pass) {
    next_sources_ ^= 1;
    place_sources(op, piece, pass);
    team_.synchronize();
  }

  /// Wipes a slot of packets when its turn comes, although this message does not use it.
  RONDO_DEVICE void wipe(const DeviceOp& op, std::uint64_t pass) const {
    const ArenaShape& arena = view_.sizes.arena;
    const std::uint64_t step = view_.step_to(op, pass);
    if (view_.team >= arena.packet_stripes || !wipe_due(arena, step)) return;
    Packet* packets = view_.packets(view_.to(static_cast<std::uint32_t>(op.out_peer)), step);
    for (std::uint32_t i = team_.lane(); i < arena.packets; i += team_.lanes())
      store_pair_relaxed(packets + i, {});
  }

  RONDO_DEVICE void combine(const Recipe& recipe, const DeviceOp& op, std::uint32_t piece,
                            std::uint64_t pass) const {
    const std::uint64_t count = view_.elements(op, piece, pass);
    if (count == 0) return;
    std::byte* slot = nullptr;
    if (op.out_peer >= 0) {
      const ChannelEnd end = view_.to(static_cast<std::uint32_t>(op.out_peer));
      slot = view_.frame(end, view_.step_to(op, pass)) + piece * view_.slice_bytes();
    }
    std::byte* kept = op.writes != 0 ? view_.local(op.into, piece, pass) : nullptr;
    if (kept == nullptr && slot == nullptr) return;
    const Targets targets{kept != nullptr ? kept : slot, kept != nullptr ? slot : nullptr};
    combine_any(recipe, {team_.memory().sources[next_sources_], op.operands}, targets, count,
                {team_.lane(), team_.lanes()});
  }

  Team& team_;
  const LaneView& view_;
  std::uint32_t next_sources_ = 0;
};

}  // namespace rondo::device
