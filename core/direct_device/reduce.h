// Reductions on the device, put into a stream. They need rondo's kernels, which a build without
// nvcc lacks.
#pragma once

#include <cstddef>
#include <vector>

#include "core/control/call.h"
#include "core/cuda/api.h"

namespace rondo::direct_device {

inline constexpr std::size_t most_operands = 32;

/// Whether kernels can be had in `context`. Loads them.
bool can_reduce(cuda::Context context);

/// target[i] = sources[0][i] op sources[1][i] op ..., in that order, `call`'s types and operator;
/// avg divides by the number of sources. Throws CudaError.
struct Reduction {
  cuda::DevicePointer target = 0;
  std::vector<cuda::DevicePointer> sources{};
  std::size_t count = 0;
};
void reduce(cuda::Context context, const Call& call, const Reduction& reduction,
            cuda::Stream stream);

/// target[i] = source[i] * scalar, which is 8 bytes at most. The target is aligned to its elements,
/// the source need not be. Throws CudaError.
struct Product {
  cuda::DevicePointer target = 0;
  cuda::DevicePointer source = 0;
  const void* scalar = nullptr;
  /// True: the scalar is read when the stream gets there, if it lies in device memory or in
  /// page-locked host memory, which the device reaches. In other memory, and if false, it is read
  /// now.
  bool scalar_later = false;
  std::size_t count = 0;
};
void multiply(cuda::Context context, const Call& call, const Product& product, cuda::Stream stream);

}  // namespace rondo::direct_device
