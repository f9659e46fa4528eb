// Which way a call on device buffers takes, for all APIs. The first that serves it:
//
//   one thread calls for all ranks      AllRanks: one launch, in place                together.h
//   threads of all ranks call at once   the same, where they meet                     rendezvous.h
//   each rank has a device, one host    DeviceCalls: from device to device            between_devices.h
//   each rank has a device, more hosts  Hierarchy: in steps, within and across hosts  hierarchy.h
//   the rest                            StreamCalls: through the host's memory        stream_calls.h
//
// A call on the host's memory may take none of these. Then the API makes it on the host.
#pragma once

#include "core/dispatch/between_devices.h"
#include "core/dispatch/hierarchy.h"
#include "core/dispatch/together.h"

namespace rondo::dispatch {

bool is_captured(cuda::Stream stream);
/// Whether the call must run in its stream's order: its buffers are on a device, it is captured
/// into a graph, or it asks for it.
bool needs_stream_order(const Asked& asked);

/// Puts a call that runs alone into its stream. False: it needs no stream's order. Returns at once,
/// unless it must wait for room in queues. Throws the failure of this call or an earlier one.
bool put_alone(const Asked& asked);

/// A group's calls, split by whether any of their communicator needs its stream's order.
struct Parted {
  AskedList in_streams{};
  AskedList on_host{};
};
Parted part(AskedSpan group);

/// Whether the user names an algorithm, or has a schedule, that paths without programs do not follow.
bool is_named(const Asked& asked);

/// Puts calls that need it into their streams through the host. Returns the others.
AskedList put_through_host(AskedSpan group, FirstFailure& failure);

/// Puts a group into its streams, all of it: each call is in_order.
void put_group(AskedSpan group, FirstFailure& failure);

/// Puts calls of communicators that need it into their streams. Returns the others of them, which
/// may begin on the host when their streams are done. Returns at once, unless it must wait for room
/// in queues.
AskedList put_into_streams(AskedSpan group, FirstFailure& failure);

}  // namespace rondo::dispatch
