// Calls of a group in which one thread makes the calls of all ranks of a communicator. On devices
// they need no messages (core/stream/all_ranks.h).
#pragma once

#include <span>
#include <vector>

#include "core/nccl/in_streams.h"

namespace rondo::nccl {

/// Puts the calls of such communicators into their streams, where all their buffers lie on devices
/// that reach each other. Says whether it has put any, and then gives all others in order. Returns
/// at once.
struct PutTogether {
  bool any = false;
  std::vector<Operation> others{};
};
PutTogether put_together(std::span<const Operation> operations, FirstFailure& failure);

/// The same for calls of one communicator that other threads of this process make for its other
/// ranks: brings them to its rendezvous. False where they take another path. That is so for calls
/// of several communicators, messages, captured calls and calls without a buffer on a device. The
/// others learn of that. Waits for those threads, see there. Throws why it failed.
bool meet(std::span<const Operation> operations);

}  // namespace rondo::nccl
