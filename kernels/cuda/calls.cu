// The kernels that core/cuda/kernels.h launches and finds by their names
// (kernels/device/calls.h). They are compiled to an image, like combine.cu.
#include "kernels/cuda/team.cuh"
#include "kernels/device/calls.h"

using namespace rondo::device;

extern "C" __global__ void __launch_bounds__(resident_threads, resident_blocks_each)
    rondo_small_all_reduce(const __grid_constant__ SmallCall call) {
  __shared__ TeamMemory memory;
  CudaTeam team(memory);
  mark_begin(team, call.marks, blockIdx.x);
  run_small(team, call, blockIdx.x);
  mark_end(team, call.marks, gridDim.x);
}

extern "C" __global__ void __launch_bounds__(resident_threads, resident_blocks_each)
    rondo_program(const __grid_constant__ RankContext call) {
  __shared__ TeamMemory memory;
  CudaTeam team(memory);
  mark_begin(team, call.marks, blockIdx.x);
  run_lane_until_taken(team, call, blockIdx.x);
  mark_end(team, call.marks, gridDim.x);
}
