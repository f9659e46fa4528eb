#include <algorithm>
#include <string>

#include "kernels/cuda/error.h"
#include "kernels/cuda/resident.h"
#include "kernels/cuda/team.cuh"
#include "kernels/device/interpret.h"
#include "rondo/error.h"

namespace rondo {
namespace {

using namespace device;

__global__ void __launch_bounds__(resident_threads, resident_blocks_each)
    run_programs(ResidentLaunch launch) {
  __shared__ TeamMemory memory;
  CudaTeam team(memory);
  run_lane(team, launch.contexts[blockIdx.x / launch.teams], blockIdx.x % launch.teams);
}

__global__ void __launch_bounds__(resident_threads, resident_blocks_each)
    run_small_calls(SmallLaunch launch) {
  __shared__ TeamMemory memory;
  CudaTeam team(memory);
  run_small(team, launch.calls[blockIdx.x / launch.stripes], blockIdx.x % launch.stripes);
}

template <class Kernel>
std::uint32_t blocks_at_once(Kernel kernel, std::uint32_t threads) {
  int device = 0;
  int processors = 0;
  int each = 0;
  demand(cudaGetDevice(&device), "asking for the current CUDA device");
  demand(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
         "asking a device for its processors");
  demand(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, static_cast<int>(threads), 0),
         "asking how many blocks of the resident kernel a processor holds");
  return static_cast<std::uint32_t>(processors * each);
}

template <class Kernel, class Launch>
void launch_at_once(Kernel kernel, Launch launch, void* stream) {
  const std::uint32_t most = blocks_at_once(kernel, launch.threads);
  if (launch.blocks() == 0 || launch.blocks() > most) {
    throw Error(ErrorCode::invalid_argument,
                std::to_string(launch.blocks()) + " blocks of " + std::to_string(launch.threads) +
                    " threads would have to run at once; this device holds 1 to " +
                    std::to_string(most),
                {.remedy = "fewer stripes, fewer threads or fewer ranks on the device"});
  }
  void* arguments[] = {&launch};
  demand(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(launch.blocks()),
                                     dim3(launch.threads), arguments, 0,
                                     static_cast<cudaStream_t>(stream)),
         "launching the resident kernel");
}

}  // namespace

void launch_resident(const ResidentLaunch& launch, void* stream) {
  launch_at_once(run_programs, launch, stream);
}
void launch_small(const SmallLaunch& launch, void* stream) {
  launch_at_once(run_small_calls, launch, stream);
}

}  // namespace rondo
