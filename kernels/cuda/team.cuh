// A team that is a block of threads (kernels/device/team.h).
#pragma once

#include "kernels/device/team.h"

namespace rondo::device {

class CudaTeam {
 public:
  __device__ explicit CudaTeam(TeamMemory& memory) : memory_(memory) {}

  __device__ std::uint32_t lane() const { return threadIdx.x; }
  __device__ std::uint32_t lanes() const { return blockDim.x; }
  __device__ void synchronize() { __syncthreads(); }
  __device__ bool any(bool value) { return __syncthreads_or(value) != 0; }
  __device__ TeamMemory& memory() { return memory_; }

 private:
  TeamMemory& memory_;
};

}  // namespace rondo::device
