// verbs: InfiniBand and RoCE by reliable queue pairs, between machines and on one.
//
// - A channel is a TCP connection, made as the tcp transport makes its own, over which both ends
//   tell each other their queue pairs and which tells that a peer died (letter.h); then the queue
//   pairs carry everything (channel_end.h, endpoint.h).
// - Ports that may be used are rails (rails.h). Lanes, and the RONDO_IB_QPS_PER_CONNECTION queue
//   pairs of a channel, are dealt out over them in turn; frame n takes queue pair n modulo their
//   number.
// - Data goes by sends into receives that are posted for each slot, and credits as their immediate
//   numbers: slots are open to no peer, and whatever comes wakes a rank that sleeps. Sends move
//   long frames as fast as writes to exchanged addresses: on Soft-RoCE perftest measured 64, 70 and
//   69 MiB/s for sends of 64 KB beside 46, 66 and 70 for writes.
// - Payloads of up to 40 bytes are written, in one packet and with an immediate number as above, to
//   lines, cache lines that the receiver looks at: it has the frame before it learns of the
//   completion, which comes behind it and does the rest. Lines are all that is open to a peer.
// - Frames arrive in slots, which are registered once, and leave from slots. Those of 4 KiB and
//   more of allocate() memory leave from where they lie: a work request then has two parts, the
//   header in the slot and the payload in its place. Which memory is registered, and when:
//   region_cache.h. Such a payload stays untouched until the peer has released its frame, or its
//   device has acknowledged it (holds_places()); credits come anyway, so that steady calls ask for
//   no completion but every 16th. An acknowledgement is asked for where a credit takes long.
// - Nothing is received into place. A receive is posted before it is known which message will fill
//   it; to know, executors would have to announce destinations ahead of their turn, or open them to
//   the peer's writes and await its answer, which costs a trip before each message. What is
//   received to be reduced, the most of it, is read where it arrived anyway. In the guest the copy
//   out of slots takes 2 % of the time of 1 MB.
//
// Registered memory: a channel that is in use takes 8 slots at either end, of 64 KiB with few
// ranks, smaller with many, so that the limits of core/transport/transport.h hold: 256 MiB a rank.
// Besides, for each device in use, at most 64 blocks of allocate() memory and 16 GiB, which are the
// user's anyway. The limit of locked memory (ulimit -l) must allow the slots; blocks that it does
// not allow are copied. A device takes some KiB more for each queue pair.
#pragma once

#include <memory>
#include <string>

#include "core/transport/transport.h"

namespace rondo::verbs {

/// Between ranks whose ports can talk, by HostInfo::rdma.
std::string obstacle(const HostInfo& from, const HostInfo& to);
/// Throws Error.
std::unique_ptr<Transport> make(const TransportSettings& settings);

/// Sets HostInfo::rdma, or no_rdma where there is none. Opens every device. Does not throw for want
/// of devices, but Error{configuration} for settings that are wrong.
void describe(HostInfo& host, const InfinibandConfig& config);

}  // namespace rondo::verbs
