// World: what is asked of all ranks of a communicator at once, on devices of one process, where no
// messages are needed: core/stream/all_ranks.h.
#pragma once

#include <vector>

#include "core/nccl/operations.h"

namespace rondo::nccl {

/// By rank. Value type.
struct World {
  std::vector<Member*> members{};       ///< null: nothing is known of this rank
  std::vector<cudaStream_t> streams{};  ///< of each rank's first call
  std::vector<std::vector<stream::Request>> requests{};

  /// Of this operation's communicator, as all others are.
  void add(const Operation& operation);
  /// Takes over the ranks that `other` knows.
  void add(World&& other);
  bool is_whole() const;
};

/// Puts the calls into their streams. False, and nothing was done, where they are none for this
/// way, see AllRanks::put(). Throws what that throws, and the failure of an earlier call of any
/// rank. Of a whole world, whose members make no other calls meanwhile.
bool put(const World& world);

/// That no call of such a world is put this way, now or later. Behind put().
bool is_closed(const World& world);

}  // namespace rondo::nccl
