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
#include "kernels/device/image.h"

namespace rondo::device {

struct TeamMemory {
  Source sources[most_operands];  ///< of the op being run
};

}  // namespace rondo::device
