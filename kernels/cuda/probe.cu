// The probe in a build with CUDA. The runtime is linked statically and looks for the driver when it
// is first called. So a machine without a driver gets a sentence, not a missing library.
#include <cuda_runtime.h>

#include "kernels/cuda/probe.h"

namespace rondo {

CudaProbe probe_cuda() {
  int driver_version = 0;  // stays 0 without a driver, where the device count's error misleads
  if (cudaDriverGetVersion(&driver_version) != cudaSuccess || driver_version == 0) {
    return {.reason = "no CUDA device can be used: this machine has no NVIDIA driver"};
  }
  CudaProbe probe;
  const cudaError_t status = cudaGetDeviceCount(&probe.device_count);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();  // not left for the caller's next CUDA call to find
    probe.device_count = 0;
    probe.reason = std::string("no CUDA device can be used: ") + cudaGetErrorString(status);
  } else if (probe.device_count == 0) {
    probe.reason = "no CUDA device is visible to this process";
  } else {
    probe.usable = true;
    probe.reason = std::to_string(probe.device_count) + " CUDA device" +
                   (probe.device_count == 1 ? "" : "s") + " visible";
  }
  return probe;
}

}  // namespace rondo
