// The trainer's kernels as bytes inside the program: what CUDA's driver loads as a module.
#pragma once

#include <cstddef>
#include <span>

namespace rondo::train::device {

/// Machine code and PTX (a "fatbin"). Empty where rondo was built without nvcc.
std::span<const std::byte> kernel_image();

}  // namespace rondo::train::device
