// verbs: InfiniBand and RoCE by reliable queue pairs, between machines and on one.
//
// - A channel is a TCP connection, made as the tcp transport makes its own, over which both ends
//   tell each other their queue pairs and which tells that a peer died (letter.h); then the queue
//   pairs carry everything (channel_end.h, endpoint.h).
// - Ports that may be used are rails (rails.h). Lanes, and the RONDO_IB_QPS_PER_CONNECTION queue
//   pairs of a channel, are dealt out over them in turn; frame n takes queue pair n modulo their
//   number.
// - Data goes by sends into receives that are posted for each slot, and credits as the sends'
//   immediate numbers, not by writes to exchanged addresses: no memory is open to peers at all, and
//   both wake a rank that sleeps. Sends are as fast: on Soft-RoCE perftest measured 64, 70 and 69
//   MiB/s for sends of 64 KB beside 46, 66 and 70 for writes, and 12 to 22 us for a send of 8 B
//   beside 16 to 21 us for a write.
// - Frames go through slots, which are registered once; user memory is not registered. A frame from
//   the user's own memory would have to stay untouched until the peer's device has acknowledged it,
//   and only memory whose end is told could be kept registered.
//
// Registered memory: a channel that is in use takes 8 slots at either end, of 64 KiB with few
// ranks, smaller with many, so that the limits of core/transport/transport.h hold: 256 MiB a rank.
// The limit of locked memory (ulimit -l) must allow it. Besides, a device takes some KiB for each
// queue pair.
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
