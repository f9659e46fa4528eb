// Reductions on the device, put into a stream. They need rondo's kernels, which a build without
// nvcc lacks.
#pragma once

#include <cstddef>
#include <vector>

#include "core/control/call.h"
#include "core/cuda/api.h"
#include "kernels/device/combine.h"

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

/// The number at `pointer`, for kernels of the current context. `later`: it is read when the stream
/// gets there, if it lies in device memory or in page-locked host memory, which the device reaches.
/// In other memory, and if not `later`, it is read now.
device::Scalar scalar_at(const void* pointer, DataType type, bool later);

/// target[i] = source[i] * scalar. The target is aligned to its elements, the source need not be.
/// Throws CudaError.
struct Product {
  cuda::DevicePointer target = 0;
  cuda::DevicePointer source = 0;
  device::Scalar scalar{};
  std::size_t count = 0;
};
void multiply(cuda::Context context, const Call& call, const Product& product, cuda::Stream stream);

}  // namespace rondo::direct_device
