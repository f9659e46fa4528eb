// Calls that one thread makes for all ranks of a communicator: those of a group, and those that
// other threads have brought to it.
#pragma once

#include <span>
#include <vector>

#include "core/base/first_failure.h"
#include "core/dispatch/asked.h"

namespace rondo::dispatch {

/// The calls of all ranks of a communicator at once, on devices of one process, by rank. They need
/// no messages (core/stream/all_ranks.h). Value type.
struct World {
  std::vector<RankCalls*> ranks{};                       ///< null: nothing is known of this rank
  std::vector<std::vector<stream::Request>> requests{};  ///< one at least of each that is known

  /// Adds a call. All are of one communicator.
  void add(const Asked& asked);
  /// Takes over the ranks that `other` knows.
  void add(World&& other);
  bool is_whole() const;
};

/// Puts the calls into their streams. False, and nothing was done, where this path cannot serve
/// them: see AllRanks::put(). Throws what that throws, and the failure of an earlier call of any
/// rank. The world must be whole, and its ranks make no other calls meanwhile.
bool put(const World& world);

/// Whether no call of such a world is put this way, now or later. To be asked after put().
bool is_closed(const World& world);

/// Puts the calls of such communicators into their streams, where all their buffers lie on devices
/// that reach each other. Returns all others in order. Returns at once.
AskedList put_together(AskedSpan group, FirstFailure& failure);

/// The same for calls of one communicator that other threads of this process make for its other
/// ranks: brings them to its rendezvous. False where they take another path. That is so for calls
/// of several communicators, messages, captured calls and calls without a buffer on a device. The
/// others learn of that. Waits for those threads, see there. Throws why it failed.
bool meet(AskedSpan group);

}  // namespace rondo::dispatch
