// What is measured: the machine's own limits, loops by hand, and rondo beside them.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/floor/flags.h"
#include "bench/floor/probe.h"
#include "core/base/unique_fd.h"

namespace rondo::bench {

/// A two-way exchange between all members, and half a ping-pong between the first two. Only at the
/// size `smallest`, for which it stands.
Source flag_probes(std::shared_ptr<Flags> flags, const Member& member, std::size_t smallest);

/// A small all-reduce by hand, to which the promises of a library are added one by one (promises.cc).
/// Only at `smallest`, where that fits beside the flag: at most most_promised. `memory` is shared,
/// zeroed and holds promise_bytes(members).
Source promise_probes(Member& member, SharedMemory& memory, std::size_t smallest);
std::size_t promise_bytes(int members);
extern const std::size_t most_promised;

/// Copies (2 bytes of traffic for each byte) and additions of two vectors (3 bytes), on one core and
/// on all, through the caches and past them.
Source memory_probes(const Member& member);

/// The shortest all-reduce of one machine (by_hand.cc), and copies from a peer's memory by the kernel.
/// `windows` is shared and holds window_bytes(members, largest).
Source by_hand_probes(Member& member, std::shared_ptr<Flags> flags, SharedMemory& windows,
                      std::size_t largest);
std::size_t window_bytes(int members, std::size_t largest);

/// Pairs of processes swap as many bytes as an all-reduce sends and receives on each rank, over one
/// connection for both ways, or one for each way.
using Connection = std::array<UniqueFd, 2>;
Source socket_probes(const Member& member, const std::vector<Connection>& connections);
/// Two connections for each pair (0 and 1, 2 and 3, ...), to be made before the processes are forked.
/// Throws std::system_error.
std::vector<Connection> connect_pairs(int members);

/// rondo's all_reduce over shm and over tcp, on buffers from the heap and from allocate(). Collective.
/// `meeting` is shared and holds a UniqueId. Throws rondo::Error, std::bad_alloc.
Source rondo_probes(Member& member, SharedMemory& meeting, std::size_t largest);

/// One algorithm over one transport, by the executor and by hand; each has channels of its own, alike.
/// Collective. `number` is unique among them. `meeting` holds meeting_bytes. `vectors` serve all
/// sizes up to theirs.
Source price_probes(Member& member, SharedMemory& meeting, const std::string& transport,
                    const std::string& algorithm, std::uint64_t number, const Vectors& vectors);

}  // namespace rondo::bench
