// Small all-reduces written by hand: no program, no credits, one or two trips.
//
//   one_shot   each rank puts its input into every rank's mailbox; each rank adds up all P in rank
//              order
//   two_shot   each rank puts part o of its input into rank o's mailbox; rank o adds up and puts
//              the result into every rank's second mailbox
//
// The schedules of the same names are their specification, bit for bit. Packets are those of the
// low-latency protocol.
//
// Mailboxes come in pairs that calls use in turn. A rank in call n has heard from every rank in
// call n - 1. Each rank sent that after it had finished call n - 2. So the mailboxes of call n - 2
// are free. For this reason parts are never empty: a part past the end is a packet without
// elements.
#pragma once

#include "kernels/device/lane_view.h"
#include "kernels/device/marks.h"
#include "kernels/device/packets.h"
#include "kernels/device/team.h"

namespace rondo::device {

enum class SmallAlgorithm : std::uint32_t { one_shot, two_shot };

/// One rank's part of a call. It is equal on all ranks but for rank, input, output and control. The
/// memory is as in RankContext. `stripes` is at most the packet_stripes of the arena.
struct SmallCall {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  ///< may be the input
  std::byte* const* arenas = nullptr;
  Control* control = nullptr;
  ArenaShape arena{};
  std::uint32_t rank = 0;
  std::uint64_t count =
      0;  ///< elements: at most small_capacity() bytes, which is the caller's to see to
  /// For averages `before` is 1 / ranks, as in the schedules. Or the sum is divided, by `after` or
  /// by the divisor, and `before` is 1.
  Recipe recipe{};
  SmallAlgorithm algorithm = SmallAlgorithm::one_shot;
  std::uint32_t stripes = 1;
  Marks marks{};
};

/// Most bytes that a small all-reduce can carry.
constexpr std::uint64_t small_capacity(const ArenaShape& arena, SmallAlgorithm algorithm,
                                       std::uint32_t stripes) {
  const std::uint64_t parts = algorithm == SmallAlgorithm::two_shot ? arena.ranks : 1;
  return parts * stripes * arena.mailbox * packet_payload;
}

/// One stripe of a call, run by one team.
template <class Team, class E>
class SmallRun {
 public:
  RONDO_DEVICE SmallRun(Team& team, const SmallCall& call, std::uint32_t stripe)
      : team_(team), call_(call), places_(call.arena), stripe_(stripe) {
    const std::uint64_t packets = packets_of(call.count);
    const std::uint64_t share = (packets + call.stripes - 1) / call.stripes;
    begin_ = share * stripe;
    packets_ = begin_ >= packets ? 0 : packets - begin_ < share ? packets - begin_ : share;
    calls_ = reinterpret_cast<std::uint64_t*>(call.arenas[call.rank] + places_.small_calls(stripe));
    number_ = load_plain(calls_);
    flag_ = flag_of(call.arena, number_);
  }

  /// False when a wait was ended; for all threads of the team alike.
  RONDO_DEVICE bool run() {
    if (packets_ == 0) return true;  // on every rank
    const bool whole = call_.algorithm == SmallAlgorithm::one_shot ? one_shot() : two_shot();
    if (team_.any(!whole)) return false;
    if (team_.lane() == 0) store_plain(calls_, number_ + 1);
    return true;
  }

 private:
  using P = Payload<E>;
  /// Loads of a thread. With 8, registers are spilled.
  static constexpr std::uint32_t parts_at_once = 4;

  /// Phase 0 carries inputs, phase 1 results.
  RONDO_DEVICE Packet* mailbox(std::uint32_t owner, std::uint32_t phase, std::uint32_t from) const {
    const auto box = static_cast<std::uint32_t>(phase * 2 + number_ % 2);
    return reinterpret_cast<Packet*>(call_.arenas[owner] + places_.mailbox(stripe_, box, from));
  }
  /// Wipes this rank's packets in others' mailboxes when their turn comes, before anybody writes.
  /// Calls take a pair of boxes in turn, so two calls in a row wipe.
  RONDO_DEVICE void wipe() {
    if (number_ / 2 % call_.arena.wipe_interval != 0) return;
    for (std::uint32_t peer = 0; peer < call_.arena.ranks; ++peer) {
      for (std::uint32_t i = team_.lane(); i < call_.arena.mailbox; i += team_.lanes()) {
        store_pair_relaxed(mailbox(peer, 0, call_.rank) + i, {});
        store_pair_relaxed(mailbox(peer, 1, call_.rank) + i, {});
      }
    }
    team_.synchronize();
  }

  /// Peers are written to in the order of hops from this rank, so that not all ranks write to the same
  /// one at a time.
  RONDO_DEVICE std::uint32_t ahead(std::uint32_t hops) const {
    const std::uint32_t rank = call_.rank + hops;
    return rank < call_.arena.ranks ? rank : rank - call_.arena.ranks;
  }
  static constexpr std::uint64_t packets_of(std::uint64_t count) {
    return (count + P::lanes - 1) / P::lanes;
  }

  RONDO_DEVICE std::uint64_t left(std::uint64_t packet) const {
    const std::uint64_t first = packet * P::lanes;
    return first < call_.count ? call_.count - first : 0;
  }
  RONDO_DEVICE typename P::Elements input(std::uint64_t packet) const {
    return P::load(call_.input + packet * packet_payload, left(packet));
  }
  RONDO_DEVICE void output(std::uint64_t packet, const typename P::Elements& elements) const {
    P::store(call_.output + packet * packet_payload, left(packet), elements);
  }

  /// Waits for the packet from every rank and adds them up in the order of ranks. The loads of the
  /// first look are all under way at once.
  RONDO_DEVICE bool add_up(std::uint64_t place, std::uint64_t packet,
                           typename P::Elements& result) const {
    PayloadSum<E> sum(call_.recipe);
    constexpr std::uint32_t at_once = 8;
    for (std::uint32_t first = 0; first < call_.arena.ranks; first += at_once) {
      WordPair words[at_once];
      for (std::uint32_t k = 0; k < at_once; ++k) {
        if (is_peer(first + k))
          words[k] = load_pair_relaxed(mailbox(call_.rank, 0, first + k) + place);
      }
      for (std::uint32_t k = 0; k < at_once && first + k < call_.arena.ranks; ++k) {
        if (first + k == call_.rank) {
          sum.add(input(packet), true);
        } else if (await(0, first + k, place, words[k])) {
          sum.add(P::elements(payload_of(words[k])), false);
        } else {
          return false;
        }
      }
    }
    result = sum.result();
    return true;
  }
  RONDO_DEVICE bool is_peer(std::uint32_t rank) const {
    return rank < call_.arena.ranks && rank != call_.rank;
  }
  RONDO_DEVICE bool await(std::uint32_t phase, std::uint32_t peer, std::uint64_t place,
                          WordPair& words) const {
    const Packet* packet = mailbox(call_.rank, phase, peer) + place;
    return has_flag(words, flag_) || wait_until(*call_.control,
                                                {.awaited = Awaited::small_message,
                                                 .stripe = stripe_,
                                                 .op = phase,
                                                 .peer = peer,
                                                 .step = number_},
                                                [&] {
                                                  words = load_pair_relaxed(packet);
                                                  return has_flag(words, flag_);
                                                });
  }

  /// What this rank contributes, rounded as every contribution is.
  RONDO_DEVICE std::uint64_t contribution(std::uint64_t packet) const {
    if (!call_.recipe.scales()) return P::bits(input(packet));  // no bit changes
    PayloadSum<E> alone(call_.recipe);
    alone.add(input(packet), true);
    return P::bits(alone.result());
  }

  RONDO_DEVICE bool one_shot() {
    wipe();
    for (std::uint64_t i = team_.lane(); i < packets_; i += team_.lanes()) {
      const std::uint64_t bits = contribution(begin_ + i);
      for (std::uint32_t hops = 1; hops < call_.arena.ranks; ++hops)
        put_packet(mailbox(ahead(hops), 0, call_.rank) + i, bits, flag_);
    }
    for (std::uint64_t i = team_.lane(); i < packets_; i += team_.lanes()) {
      typename P::Elements result;
      if (!add_up(i, begin_ + i, result)) return false;
      output(begin_ + i, result);
    }
    return true;
  }

  /// Every part has as many packets; those of the last ones may have no elements. Packet i of any
  /// part is always the same thread's, so in place nothing is overwritten before it is read.
  RONDO_DEVICE bool two_shot() {
    wipe();
    const std::uint32_t ranks = call_.arena.ranks;
    const std::uint64_t part = (packets_ + ranks - 1) / ranks;
    for (std::uint64_t i = team_.lane(); i < part; i += team_.lanes()) {
      for (std::uint32_t first = 1; first < ranks; first += parts_at_once)
        put_parts(first, part, i);
    }
    for (std::uint64_t i = team_.lane(); i < part; i += team_.lanes()) {
      typename P::Elements result;
      const std::uint64_t packet = packet_of(call_.rank, part, i);
      if (!add_up(i, packet, result)) return false;
      for (std::uint32_t hops = 1; hops < ranks; ++hops)
        put_packet(mailbox(ahead(hops), 1, call_.rank) + i, P::bits(result), flag_);
      output(packet, result);
    }
    for (std::uint64_t i = team_.lane(); i < part; i += team_.lanes()) {
      for (std::uint32_t first = 1; first < ranks; first += parts_at_once) {
        if (!take_parts(first, part, i)) return false;
      }
    }
    return true;
  }
  /// Packet i of the parts of the ranks that are so many hops ahead. The loads are all under way at once.
  RONDO_DEVICE void put_parts(std::uint32_t first, std::uint64_t part, std::uint64_t i) const {
    const std::uint32_t ranks = call_.arena.ranks;
    std::uint64_t bits[parts_at_once];
    RONDO_UNROLL
    for (std::uint32_t k = 0; k < parts_at_once; ++k) {
      if (first + k < ranks) bits[k] = contribution(packet_of(ahead(first + k), part, i));
    }
    RONDO_UNROLL
    for (std::uint32_t k = 0; k < parts_at_once; ++k) {
      if (first + k < ranks)
        put_packet(mailbox(ahead(first + k), 0, call_.rank) + i, bits[k], flag_);
    }
  }
  /// The same of results.
  RONDO_DEVICE bool take_parts(std::uint32_t first, std::uint64_t part, std::uint64_t i) const {
    const std::uint32_t ranks = call_.arena.ranks;
    WordPair words[parts_at_once];
    RONDO_UNROLL
    for (std::uint32_t k = 0; k < parts_at_once; ++k) {
      if (first + k < ranks)
        words[k] = load_pair_relaxed(mailbox(call_.rank, 1, ahead(first + k)) + i);
    }
    RONDO_UNROLL
    for (std::uint32_t k = 0; k < parts_at_once; ++k) {
      if (first + k >= ranks) return true;
      const std::uint32_t owner = ahead(first + k);
      if (!await(1, owner, i, words[k])) return false;
      output(packet_of(owner, part, i), P::elements(payload_of(words[k])));
    }
    return true;
  }
  /// Packet i of a part of this stripe; one past the call's last where there is no such packet.
  RONDO_DEVICE std::uint64_t packet_of(std::uint32_t owner, std::uint64_t part,
                                       std::uint64_t i) const {
    const std::uint64_t within = owner * part + i;
    return within < packets_ ? begin_ + within : packets_of(call_.count);
  }

  Team& team_;
  const SmallCall& call_;
  ArenaPlaces places_;
  std::uint32_t stripe_;
  std::uint64_t begin_ = 0;    ///< first packet of the stripe
  std::uint64_t packets_ = 0;  ///< of the stripe
  std::uint64_t* calls_ = nullptr;
  std::uint64_t number_ = 0;
  std::uint32_t flag_ = 0;
};

template <class E, class Team>
[[gnu::noinline]] RONDO_DEVICE bool run_small_as(Team& team, const SmallCall& call,
                                                 std::uint32_t stripe) {
  return SmallRun<Team, E>(team, call, stripe).run();
}

/// Runs one stripe of the call. False when a wait was ended: the control says which and why.
template <class Team>
RONDO_DEVICE inline bool run_small(Team& team, const SmallCall& call, std::uint32_t stripe) {
  if (stripe >= call.stripes) return true;
  return visit_type(call.recipe.type, [&](auto tag) {
    return run_small_as<Element<decltype(tag)::value>>(team, call, stripe);
  });
}

}  // namespace rondo::device
