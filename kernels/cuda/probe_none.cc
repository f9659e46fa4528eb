// The probe in a build without CUDA.
#include "kernels/cuda/probe.h"

namespace rondo {

CudaProbe probe_cuda() { return {.reason = "rondo was built without CUDA"}; }

}  // namespace rondo
