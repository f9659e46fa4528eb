// The reason why a program cannot run here.
#pragma once

#include <string>

#include "kernels/cuda/probe.h"
#include "tests/fake_driver/fake_driver.h"

namespace rondo::gpu_test {

/// What CUDA's runtime says, which nvcc's kernels need; empty: nothing is in the way.
inline std::string runtime_obstacle() {
  const CudaProbe probe = probe_cuda();
  return probe.usable ? std::string() : probe.reason;
}

/// What the driver or its stand-in alone says; empty: nothing is in the way.
inline std::string driver_obstacle() {
  int devices = 0;
  const int status = cuInit(0);
  if (status != cuda::success) return "cuInit says " + std::to_string(status);
  const int counted = cuDeviceGetCount(&devices);
  if (counted == cuda::success && devices > 0) return {};
  return "the driver shows no device";
}

}  // namespace rondo::gpu_test
