// Team: the threads that run one lane of a program together. On the device a team is a block.
//
// A type is a team when it has:
//   std::uint32_t lane(), lanes()   this thread among the team's
//   void synchronize()              a barrier: what any thread wrote before it, all see after it
//   bool any(bool)                  a barrier that tells whether any thread brought true
//   TeamMemory& memory()            shared by the team
// kernels/cuda/team.cuh is a block. tests/device/host_team.h is a set of host threads.
#pragma once

#include "kernels/device/combine.h"
#include "kernels/device/program.h"

namespace rondo::device {

/// What a team has done and not told its peers yet. 0: nothing.
struct Unpublished {
  std::uint64_t head;    ///< messages to this peer lie in their frames up to here
  std::uint64_t credit;  ///< messages from this peer were taken up to here
};

struct TeamMemory {
  /// Of the op being run, in one of the two; the slowest thread may still read the other one.
  Source sources[2][most_operands];
  std::byte* targets[2][most_peers + 1];
  Unpublished unpublished[most_peers];
};

}  // namespace rondo::device
