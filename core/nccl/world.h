// World: the calls of all ranks of a communicator at once, on devices of one process. They need no
// messages (core/stream/all_ranks.h).
#pragma once

#include <vector>

#include "core/nccl/operations.h"

namespace rondo::nccl {

/// By rank. Value type.
struct World {
  std::vector<Member*> members{};       ///< null: nothing is known of this rank
  std::vector<cudaStream_t> streams{};  ///< of each rank's first call
  std::vector<std::vector<stream::Request>> requests{};

  /// Adds an operation. All are of one communicator.
  void add(const Operation& operation);
  /// Takes over the ranks that `other` knows.
  void add(World&& other);
  bool is_whole() const;
};

/// Puts the calls into their streams. False, and nothing was done, where this path cannot serve
/// them: see AllRanks::put(). Throws what that throws, and the failure of an earlier call of any
/// rank. The world must be whole, and its members make no other calls meanwhile.
bool put(const World& world);

/// Whether no call of such a world is put this way, now or later. To be asked after put().
bool is_closed(const World& world);

}  // namespace rondo::nccl
