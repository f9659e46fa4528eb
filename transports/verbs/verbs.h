// verbs: InfiniBand and RoCE by reliable queue pairs, between machines and on one.
//
// - Connecting. Each channel has a TCP connection, made as the tcp transport makes its own. Over it
//   the two ends exchange their queue pairs, and it shows that a peer died (handshake.h). Then the
//   queue pairs carry everything (channel_end.h, endpoint.h).
// - Ports (open_ports.h). Lanes, and the RONDO_IB_QPS_PER_CONNECTION queue pairs of a channel, are
//   dealt out over the ports in turn. Frame n takes queue pair n modulo their number.
// - Data. A frame is sent into a receive that is posted for its slot. Its immediate number is a
//   credit. So slots are open to no peer, and each arrival wakes a rank that sleeps. On Soft-RoCE
//   sends move long frames as fast as writes to exchanged addresses.
// - Short frames. Payloads of up to 40 bytes are written to lines, cache lines that the receiver
//   polls, in one packet and with an immediate number as above. The receiver has the frame before
//   its completion. Lines are the only memory that is open to a peer.
// - Zero copy. Payloads of 4 KiB and more of allocate() memory are sent from where they lie. The
//   work request then has two parts: the header in the slot, and the payload in its place.
//   region_cache.h decides which memory is registered, and when. The payload must stay unchanged
//   until the peer has released the frame or its device has acknowledged it (holds_places()).
//   Credits come anyway, so steady calls ask for a completion only every 16th time. An
//   acknowledgement is requested only where a credit takes long.
// - No zero copy on the receiving side. A receive is posted before it is known which message will
//   fill it. To know, executors would have to announce destinations in advance, or open them to the
//   peer's writes and wait for its answer, which costs a trip before each message. Most of what
//   arrives is reduced, and that is read from the slot anyway.
//
// Registered memory:
// - A channel in use takes 8 slots at either end. A slot has 64 KiB with few ranks, and less with
//   many. So the limits of core/transport/transport.h hold (256 MiB for each rank).
// - For each device in use: at most 64 blocks and 16 GiB of allocate() memory, which the user has.
// - The limit of locked memory (ulimit -l) must allow the slots. Blocks beyond it are copied.
// - A device takes some KiB more for each queue pair.
#pragma once

#include <memory>
#include <string>

#include "core/transport/transport.h"

namespace rondo::verbs {

/// Between ranks whose ports can talk, by HostInfo::rdma.
std::string obstacle(const HostInfo& from, const HostInfo& to);
/// Throws Error.
std::unique_ptr<Transport> make(const TransportSettings& settings);

/// Sets HostInfo::rdma, or no_rdma where there is none. Opens every device. Throws
/// Error{configuration} for settings that are wrong; a lack of devices is no error.
void describe(HostInfo& host, const InfinibandConfig& config);

}  // namespace rondo::verbs
