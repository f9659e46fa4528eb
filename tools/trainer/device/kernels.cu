// The kernel for devices that does what math/kernels.h says, found by its name. Compiled to an
// image, not into a program: see image.h.
#include <cstddef>

#include "tools/trainer/math/kernels.h"

namespace {

/// A warp shares a row.
struct WarpLanes {
  __device__ static std::size_t lane() { return threadIdx.x % lanes(); }
  __device__ static constexpr std::size_t lanes() { return rondo::train::warp_lanes; }
  __device__ static std::size_t thread() {
    return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  }
  __device__ static std::size_t threads() { return gridDim.x * std::size_t{blockDim.x}; }
  __device__ static std::size_t group() { return thread() / lanes(); }
  __device__ static std::size_t groups() { return threads() / lanes(); }

  template <class T>
  __device__ static T sum(T own) {
    for (unsigned apart = lanes() / 2; apart > 0; apart /= 2)
      own += __shfl_xor_sync(all, own, apart);
    return own;
  }
  template <class T>
  __device__ static T largest(T own) {
    for (unsigned apart = lanes() / 2; apart > 0; apart /= 2) {
      const T other = __shfl_xor_sync(all, own, apart);
      if (own < other) own = other;
    }
    return own;
  }
  __device__ static void all_done() { __syncwarp(all); }

 private:
  static constexpr unsigned all = 0xffffffffU;
};

}  // namespace

extern "C" __global__ void __launch_bounds__(rondo::train::block_threads)
    rondo_train(const __grid_constant__ rondo::train::Call call) {
  rondo::train::run(call, WarpLanes{});
}
