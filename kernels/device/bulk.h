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
      team.memory().unpublished[peer] = {0, 0};  // the first op's vote comes before all uses
  }

  /// False when a wait was ended; for all threads of the team alike.
  RONDO_DEVICE bool run(const Recipe& recipe, const DeviceOp& op, std::uint64_t pass) {
    bool ready = true;
    for (std::uint32_t j = team_.lane(); j < op.operands + op.sends; j += team_.lanes())
      ready = is_there(need(op, j, pass)) && ready;
    place(op, 0, pass);
    if (team_.any(!ready) && !wait(op, pass)) return false;
    note(op, pass);
    for (std::uint32_t k = 0; k < op.sends; ++k) wipe(view_.send(op, k), pass);
    for (std::uint32_t piece = 0; piece < op.extent_count; ++piece) {
      if (piece > 0) next_piece(op, piece, pass);
      combine(recipe, op, piece, pass);
    }
    next_ ^= 1;
    return true;
  }

  /// Publishes what is left. Call it once, after the last op.
  RONDO_DEVICE void end() {
    team_.synchronize();
    publish();
  }

 private:
  /// What an op waits for.
  struct Need {
    std::int32_t peer;  ///< < 0: nothing
    std::uint64_t step;
    Awaited awaited;
  };
  /// Of operand `number`, or of a slot that the op sends in: these follow the operands.
  RONDO_DEVICE Need need(const DeviceOp& op, std::uint32_t number, std::uint64_t pass) const {
    if (number >= op.operands) {
      const DeviceSend& send = view_.send(op, number - op.operands);
      return {static_cast<std::int32_t>(send.peer), view_.step_to(send, pass), Awaited::credit};
    }
    const DeviceOperand& operand = view_.operand(op, number);
    if (!operand.is_message()) return {-1, 0, Awaited::message};
    return {operand.peer, view_.step_from(operand, pass), Awaited::message};
  }

  /// Looks once. Acquire: pairs with publish().
  RONDO_DEVICE bool is_there(const Need& need) const {
    if (need.peer < 0) return true;
    const auto peer = static_cast<std::uint32_t>(need.peer);
    if (need.awaited == Awaited::message) return load_acquire(view_.from(peer).head) > need.step;
    return load_acquire(view_.to(peer).credit) + view_.sizes.arena.depth > need.step;
  }

  /// Out of line: what it needs would take registers from what is fast.
  [[gnu::noinline]] RONDO_DEVICE bool wait(const DeviceOp& op, std::uint64_t pass) {
    publish();
    bool arrived = true;
    for (std::uint32_t j = team_.lane(); j < op.operands + op.sends; j += team_.lanes()) {
      const Need awaited = need(op, j, pass);
      const Failure record = view_.waiting_for(
          awaited.awaited, static_cast<std::uint32_t>(awaited.peer), op, pass, awaited.step);
      arrived =
          wait_until(*view_.context.control, record, [&] { return is_there(awaited); }) && arrived;
    }
    return !team_.any(!arrived);
  }

  /// What is to be published once the op is done. A peer has one message each way in an op (encode.h).
  RONDO_DEVICE void note(const DeviceOp& op, std::uint64_t pass) {
    for (std::uint32_t j = team_.lane(); j < op.operands; j += team_.lanes()) {
      const DeviceOperand& operand = view_.operand(op, j);
      if (operand.is_message())
        team_.memory().unpublished[operand.peer].credit = view_.step_from(operand, pass) + 1;
    }
    for (std::uint32_t k = team_.lane(); k < op.sends; k += team_.lanes()) {
      const DeviceSend& send = view_.send(op, k);
      team_.memory().unpublished[send.peer].head = view_.step_to(send, pass) + 1;
    }
  }

  /// After a barrier. Release: pairs with is_there(), and with the last wait in interpret.h.
  RONDO_DEVICE void publish() {
    for (std::uint32_t peer = team_.lane(); peer < view_.sizes.arena.ranks; peer += team_.lanes()) {
      Unpublished& unpublished = team_.memory().unpublished[peer];
      if (unpublished.head != 0) store_release(view_.to(peer).head, unpublished.head);
      if (unpublished.credit != 0) store_release(view_.from(peer).credit, unpublished.credit);
      unpublished = {0, 0};
    }
  }

  /// Lane j finds operands and targets j, j + lanes, ... All lanes see them after the next barrier.
  RONDO_DEVICE void place(const DeviceOp& op, std::uint32_t piece, std::uint64_t pass) {
    place_sources(op, piece, pass);
    std::byte** const targets = team_.memory().targets[next_];
    for (std::uint32_t k = team_.lane(); k < op.sends; k += team_.lanes()) {
      const DeviceSend& send = view_.send(op, k);
      targets[op.writes + k] =
          view_.frame(view_.to(send.peer), view_.step_to(send, pass)) + piece * view_.slice_bytes();
    }
    for (std::uint32_t k = team_.lane(); k < op.stores; k += team_.lanes())
      targets[op.writes + op.sends + k] =
          view_.in_window(view_.stored_to(op, k), op.into, piece, pass);
    if (op.writes != 0 && team_.lane() == 0) targets[0] = view_.local(op.into, piece, pass);
  }
  RONDO_DEVICE void place_sources(const DeviceOp& op, std::uint32_t piece, std::uint64_t pass) {
    for (std::uint32_t j = team_.lane(); j < op.operands; j += team_.lanes()) {
      const DeviceOperand& operand = view_.operand(op, j);
      Source& source = team_.memory().sources[next_][j];
      if (operand.in_place != 0) {
        const auto peer = static_cast<std::uint32_t>(operand.peer);
        source = {view_.in_window(peer, operand.chunk, piece, pass), false};
      } else if (operand.peer >= 0) {
        const ChannelEnd end = view_.from(static_cast<std::uint32_t>(operand.peer));
        source = {view_.frame(end, view_.step_from(operand, pass)) + piece * view_.slice_bytes(),
                  false};
      } else {
        source = {view_.local(operand.chunk, piece, pass), operand.chunk.buffer == Buffer::input};
      }
    }
  }
  RONDO_DEVICE void next_piece(const DeviceOp& op, std::uint32_t piece, std::uint64_t pass) {
    next_ ^= 1;
    place(op, piece, pass);
    team_.synchronize();
  }

  /// Wipes a slot of packets when its turn comes, although this message does not use it.
  RONDO_DEVICE void wipe(const DeviceSend& send, std::uint64_t pass) const {
    const ArenaShape& arena = view_.sizes.arena;
    const std::uint64_t step = view_.step_to(send, pass);
    if (view_.team >= arena.packet_stripes || !wipe_due(arena, step)) return;
    Packet* packets = view_.packets(view_.to(send.peer), step);
    for (std::uint32_t i = team_.lane(); i < arena.packets; i += team_.lanes())
      store_pair_relaxed(packets + i, {});
  }

  RONDO_DEVICE void combine(const Recipe& recipe, const DeviceOp& op, std::uint32_t piece,
                            std::uint64_t pass) const {
    const std::uint64_t count = view_.elements(op, piece, pass);
    const std::uint32_t targets = op.writes + op.sends + op.stores;
    if (count == 0 || targets == 0) return;
    const Source* const sources = team_.memory().sources[next_];
    std::byte* const* const list = team_.memory().targets[next_];
    // A copy in place is none: peers may read the chunk meanwhile. `into` is the first target.
    const bool scaled = sources[0].scaled && recipe.scales();
    const bool is_copy = op.operands == 1 && op.adds_all == 0 && !scaled;
    const std::uint32_t first = is_copy && op.writes != 0 && sources[0].data == list[0] ? 1 : 0;
    if (first == targets) return;
    combine_any(recipe, {sources, op.operands}, {list + first, targets - first}, count,
                {team_.lane(), team_.lanes()});
  }

  Team& team_;
  const LaneView& view_;
  std::uint32_t next_ = 0;  ///< sources and targets in the team's memory
};

}  // namespace rondo::device
