// The device kernels as bytes inside the library: what CUDA's driver loads as a module.
//
// The library needs nothing of CUDA to be linked or loaded: the bytes are there, and the driver is
// found at run time (core/cuda).
#pragma once

#include <cstddef>
#include <span>

namespace rondo {

/// Machine code and PTX (a "fatbin"). Empty where rondo was built without nvcc.
std::span<const std::byte> kernel_image();
/// The same of the kernels that wait for other ranks: an image of its own, as few contexts load it.
std::span<const std::byte> resident_image();

}  // namespace rondo
