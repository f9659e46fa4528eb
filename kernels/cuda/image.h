// The device kernels as bytes inside the library. CUDA's driver loads them as a module.
//
// Nothing of CUDA is needed to link or load the library. The driver is found at run time
// (core/cuda).
#pragma once

#include <cstddef>
#include <span>

namespace rondo {

/// Machine code and PTX (a "fatbin"). Empty where rondo was built without nvcc.
std::span<const std::byte> kernel_image();
/// The image of the kernels that wait for other ranks. It is separate, since few contexts load it.
std::span<const std::byte> resident_image();

}  // namespace rondo
