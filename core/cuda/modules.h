// A module of kernels, loaded into a context, and the kernels in it.
#pragma once

#include <cstddef>
#include <span>

#include "core/cuda/driver.h"

namespace rondo::cuda {

/// A kernel, and how many blocks of it the device runs at once.
struct Kernel {
  Function function = nullptr;
  unsigned blocks = 0;  ///< at least 1
};

/// Loads `image` into the current context, for as long as that is there. Throws
/// Error{invalid_usage} where the image is empty, CudaError where the driver cannot load it.
Module load_module(std::span<const std::byte> image);

/// The kernel `name` in blocks of `threads` threads. It is on the device from here on: a launch
/// never waits for its code, whatever CUDA_MODULE_LOADING says. Throws CudaError.
Kernel find_kernel(Module module, const char* name, unsigned threads);

}  // namespace rondo::cuda
