// The images in a build without nvcc: there are none.
#include "kernels/cuda/image.h"

namespace rondo {

std::span<const std::byte> kernel_image() { return {}; }
std::span<const std::byte> resident_image() { return {}; }

}  // namespace rondo
