// The interpreter: one team runs one lane of a program, for one stripe.
//
// Ops run in the program's order, pass by pass, with a barrier between them. That keeps every
// dependency, and the verifier has shown that the order cannot block at the program's depth. Other
// lanes and stripes have channels and memory of their own. They run at the same time.
#pragma once

#include "kernels/device/bulk.h"
#include "kernels/device/low_latency.h"
#include "kernels/device/meetings.h"

namespace rondo::device {

/// It is out of line: each type has one copy of the code, with registers of its own.
template <class E, class Team>
[[gnu::noinline]] RONDO_DEVICE bool low_latency_as(Team& team, const LaneView& view,
                                                   const Recipe& recipe, const DeviceOp& op,
                                                   std::uint64_t pass) {
  return LowLatencyOp<Team, E>(team, view, recipe, op, pass).run();
}

/// How an op combines. Only the op that adds all contributions divides; one operand that is neither
/// scaled nor divided is copied bit by bit.
RONDO_DEVICE inline Recipe recipe_of(const LaneView& view, const DeviceOp& op) {
  Recipe recipe = view.sizes.recipe;
  if (op.adds_all == 0) {
    recipe.after = 1.0;
    recipe.divisor = 1;
  }
  const DeviceOperand& first = view.operand(op, 0);
  const bool scaled = recipe.scales() && first.peer < 0 && first.chunk.buffer == Buffer::input;
  if (op.operands == 1 && !scaled && op.adds_all == 0)
    recipe.type = copying_type(view.sizes.element_bytes);
  return recipe;
}

/// Runs `run(recipe, op, pass)` for every op of every pass, until one says false.
template <class Run>
RONDO_DEVICE inline bool run_ops(const LaneView& view, const Run& run) {
  for (std::uint64_t pass = 0; pass < view.passes; ++pass) {
    for (std::uint32_t i = 0; i < view.entry.ops; ++i) {
      const DeviceOp& op = view.op(i);
      if (!run(recipe_of(view, op), op, pass)) return false;
    }
  }
  return true;
}

/// A merged program has a meeting before each stage, and one after the last. Every rank of it makes the
/// same ones, whatever ops it has in a stage.
template <class Team>
RONDO_DEVICE inline bool run_bulk(Team& team, const LaneView& view) {
  const Control& control = *view.context.control;
  // Such a launch may find that all peers have met. Then it would not look before it touches windows.
  if (view.context.marks.in_every_block &&
      team.any(team.lane() == 0 && load_relaxed(&control.abort) != 0))
    return false;
  BulkOps<Team> bulk(team, view);
  std::uint32_t met = 0;
  const auto meet_for = [&](std::uint32_t stage) {
    for (; view.program.stages > 0 && met <= stage; ++met)
      if (!meet(team, view)) return false;
    return true;
  };
  const bool whole =
      run_ops(view, [&](const Recipe& recipe, const DeviceOp& op, std::uint64_t pass) {
        return meet_for(op.stage) && bulk.run(recipe, op, pass);
      });
  if (!whole) return false;
  bulk.end();
  return meet_for(view.program.stages);
}

template <class Team>
RONDO_DEVICE inline bool run_protocol(Team& team, const LaneView& view) {
  if (view.sizes.protocol == Protocol::bulk) return run_bulk(team, view);
  return run_ops(view, [&](const Recipe& recipe, const DeviceOp& op, std::uint64_t pass) {
    return visit_type(recipe.type, [&](auto tag) {
      return low_latency_as<Element<decltype(tag)::value>>(team, view, recipe, op, pass);
    });
  });
}

/// The channels that the lane uses.
RONDO_DEVICE inline const ChannelEntry* channels_of(const LaneView& view) {
  return view.array<ChannelEntry>(view.program.channels) + view.entry.first_channel;
}

/// Adds the messages of this call to the channels' counters, once no thread reads the counters.
template <class Team>
RONDO_DEVICE inline void count_messages(Team& team, const LaneView& view) {
  const ChannelEntry* channels = channels_of(view);
  for (std::uint32_t i = team.lane(); i < view.entry.channels; i += team.lanes()) {
    Counters& counters = view.counters(channels[i].peer);
    store_plain(&counters.sent, load_plain(&counters.sent) + view.passes * channels[i].sent);
    store_plain(&counters.received,
                load_plain(&counters.received) + view.passes * channels[i].received);
  }
}

/// Whether team `number` of a rank has a part in the call.
RONDO_DEVICE inline bool has_part(const RankContext& context, std::uint32_t number) {
  const auto& program = *reinterpret_cast<const DeviceProgram*>(context.program);
  return number < program.lanes * context.sizes.stripes;
}

template <class Team>
RONDO_DEVICE inline bool run_lane(Team& team, const LaneView& view) {
  if (!run_protocol(team, view)) return false;
  team.synchronize();
  count_messages(team, view);
  return true;
}

/// Runs the part of team `number`, see LaneView. False when a wait was ended: the rank's control says
/// which and why.
template <class Team>
RONDO_DEVICE inline bool run_lane(Team& team, const RankContext& context, std::uint32_t number) {
  return !has_part(context, number) || run_lane(team, LaneView(context, number));
}

/// Runs the part, then waits until the peers have taken all that was sent. After that a rank may end.
/// Its arena stays until all ranks have let go of it: packets that a short message leaves out may
/// still be wiped there.
template <class Team>
RONDO_DEVICE inline bool run_lane_until_taken(Team& team, const RankContext& context,
                                              std::uint32_t number) {
  if (!has_part(context, number)) return true;
  const LaneView view(context, number);
  if (!run_lane(team, view)) return false;
  const ChannelEntry* channels = channels_of(view);
  bool taken = true;
  for (std::uint32_t i = team.lane(); i < view.entry.channels; i += team.lanes()) {
    const std::uint32_t peer = channels[i].peer;
    const std::uint64_t sent = load_plain(&view.counters(peer).sent);  // counted by the same thread
    const std::uint64_t* credit = view.to(peer).credit;
    // Acquire: pairs with the release of credits.
    taken = wait_until(*view.context.control,
                       view.waiting_for(Awaited::credit, peer, DeviceOp{}, view.passes, sent),
                       [&] { return load_acquire(credit) >= sent; }) &&
            taken;
  }
  return !team.any(!taken);
}

}  // namespace rondo::device
