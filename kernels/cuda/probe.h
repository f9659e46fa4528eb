// Can this process use a CUDA device? It is asked once, when a communicator is made or a tool lists
// what the machine has. It never fails.
#pragma once

#include <string>

namespace rondo {

struct CudaProbe {
  bool usable = false;   ///< at least one device that kernels can run on
  int device_count = 0;  ///< visible to this process
  std::string reason{};  ///< one sentence: what was found, or why no device can be used
};

/// Thread-safe. Built without CUDA, it says so.
CudaProbe probe_cuda();

}  // namespace rondo
