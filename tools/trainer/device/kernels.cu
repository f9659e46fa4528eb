// The kernels of kernels.h for devices, found by their names. Compiled to an image, not into a
// program: see image.h.
#include <cstddef>

#include "tools/trainer/device/kernels.h"

using namespace rondo::train::device;

namespace {

/// A warp shares a row.
struct WarpLanes {
  __device__ static std::size_t lane() { return threadIdx.x % warp_lanes; }
  __device__ static std::size_t lanes() { return warp_lanes; }
  __device__ static std::size_t thread() {
    return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  }
  __device__ static std::size_t threads() { return gridDim.x * std::size_t{blockDim.x}; }
  __device__ static std::size_t group() { return thread() / warp_lanes; }
  __device__ static std::size_t groups() { return threads() / warp_lanes; }

  template <class T>
  __device__ static T sum(T own) {
    for (unsigned apart = warp_lanes / 2; apart > 0; apart /= 2)
      own += __shfl_xor_sync(all, own, apart);
    return own;
  }
  template <class T>
  __device__ static T largest(T own) {
    for (unsigned apart = warp_lanes / 2; apart > 0; apart /= 2) {
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

#define RONDO_TRAIN_KERNEL(name, Body)                        \
  extern "C" __global__ void __launch_bounds__(block_threads) \
      rondo_train_##name(const __grid_constant__ Call call) { \
    Body::run(call, WarpLanes{});                             \
  }
RONDO_TRAIN_KERNEL(zero, Zero)
RONDO_TRAIN_KERNEL(repeat, Repeat)
RONDO_TRAIN_KERNEL(add_rows, AddRows)
RONDO_TRAIN_KERNEL(gelu, Gelu)
RONDO_TRAIN_KERNEL(gelu_backward, GeluBackward)
RONDO_TRAIN_KERNEL(add, Add)
RONDO_TRAIN_KERNEL(layer_norm, LayerNorm)
RONDO_TRAIN_KERNEL(layer_norm_rows, LayerNormRows)
RONDO_TRAIN_KERNEL(layer_norm_columns, LayerNormColumns)
RONDO_TRAIN_KERNEL(embed, Embed)
RONDO_TRAIN_KERNEL(embed_tokens, EmbedTokens)
RONDO_TRAIN_KERNEL(embed_positions, EmbedPositions)
RONDO_TRAIN_KERNEL(causal_softmax, CausalSoftmax)
RONDO_TRAIN_KERNEL(softmax_backward, SoftmaxBackward)
RONDO_TRAIN_KERNEL(cross_entropy, CrossEntropy)
RONDO_TRAIN_KERNEL(cross_entropy_backward, CrossEntropyBackward)
RONDO_TRAIN_KERNEL(squares, Squares)
RONDO_TRAIN_KERNEL(sgd, Sgd)
RONDO_TRAIN_KERNEL(adamw, Adamw)
#undef RONDO_TRAIN_KERNEL
