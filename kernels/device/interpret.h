// The interpreter: one team runs one lane of an image, for one stripe.
//
// Ops run in the program's order, pass by pass, with a barrier at the end of each. That keeps every
// dependency, and the verifier has shown that the order cannot block at the program's depth. Other
// lanes and stripes have channels and memory of their own. They run at the same time.
#pragma once

#include "kernels/device/bulk.h"
#include "kernels/device/low_latency.h"

namespace rondo::device {

/// It is out of line: each type has one copy of the code, with registers of its own.
template <class E, class Team>
[[gnu::noinline]] RONDO_DEVICE bool low_latency_as(Team& team, const LaneView& view,
                                                   const Recipe& recipe, const ImageOp& op,
                                                   std::uint64_t pass) {
  return LowLatencyOp<Team, E>(team, view, recipe, op, pass).run();
}

/// How an op combines: a lone operand that is not scaled is copied bit by bit.
RONDO_DEVICE inline Recipe recipe_of(const LaneView& view, const ImageOp& op) {
  const Image& image = view.image;
  Recipe recipe{.type = image.type, .op = image.op, .before = image.scale};
  const bool scaled = image.scale != 1.0 && view.operand(op, 0).peer < 0 &&
                      view.operand(op, 0).chunk.buffer == Buffer::input;
  if (op.operands == 1 && !scaled) recipe.type = copying_type(image.element_bytes);
  return recipe;
}

template <class Team>
RONDO_DEVICE inline bool run_op(Team& team, const LaneView& view, const ImageOp& op,
                                std::uint64_t pass) {
  const Recipe recipe = recipe_of(view, op);
  if (view.image.protocol == Protocol::bulk)
    return BulkOp<Team>(team, view, recipe, op, pass).run();
  return visit_type(recipe.type, [&](auto tag) {
    return low_latency_as<Element<decltype(tag)::value>>(team, view, recipe, op, pass);
  });
}

/// Adds the messages of this call to the channels' counters, once no thread reads the counters.
template <class Team>
RONDO_DEVICE inline void count_messages(Team& team, const LaneView& view) {
  const auto* channels = view.array<ChannelEntry>(view.image.channels) + view.entry.first_channel;
  for (std::uint32_t i = team.lane(); i < view.entry.channels; i += team.lanes()) {
    Counters& counters = view.counters(channels[i].peer);
    counters.sent += view.image.passes * channels[i].sent;
    counters.received += view.image.passes * channels[i].received;
  }
}

/// Runs the lane. False when a wait was ended: the rank's control says which and why. Teams whose
/// lane or stripe the image does not use have nothing to do.
template <class Team>
RONDO_DEVICE inline bool run_lane(Team& team, const RankContext& context, std::uint32_t lane,
                                  std::uint32_t stripe) {
  const Image& image = *reinterpret_cast<const Image*>(context.image);
  if (lane >= image.lanes || stripe >= image.stripes) return true;
  const LaneView view(context, lane, stripe);
  for (std::uint64_t pass = 0; pass < image.passes; ++pass) {
    for (std::uint32_t i = 0; i < view.entry.ops; ++i) {
      if (!run_op(team, view, view.op(i), pass)) return false;
    }
  }
  team.synchronize();
  count_messages(team, view);
  return true;
}

/// Runs the lane, then waits until the peers have taken all that was sent. After that a rank may
/// give its arena away, or end, because no rank reads or writes it any more.
template <class Team>
RONDO_DEVICE inline bool run_lane_until_taken(Team& team, const RankContext& context,
                                              std::uint32_t lane, std::uint32_t stripe) {
  if (!run_lane(team, context, lane, stripe)) return false;
  const Image& image = *reinterpret_cast<const Image*>(context.image);
  if (lane >= image.lanes || stripe >= image.stripes) return true;
  const LaneView view(context, lane, stripe);
  const auto* channels = view.array<ChannelEntry>(image.channels) + view.entry.first_channel;
  bool taken = true;
  for (std::uint32_t i = team.lane(); i < view.entry.channels; i += team.lanes()) {
    const std::uint32_t peer = channels[i].peer;
    const std::uint64_t sent = view.counters(peer).sent;  // counted by the same thread
    const std::uint64_t* credit = view.to(peer).credit;
    // Acquire: pairs with return_credits().
    taken = wait_until(*view.context.control,
                       view.waiting_for(Awaited::credit, peer, ImageOp{}, image.passes, sent),
                       [&] { return load_acquire(credit) >= sent; }) &&
            taken;
  }
  return !team.any(!taken);
}

}  // namespace rondo::device
