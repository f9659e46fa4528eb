// Device kernels into a CUDA context.
#pragma once

#include <string_view>

#include "core/cuda/driver.h"
#include "kernels/cuda/image.h"

namespace rondo::cuda {

/// Loads the image into the current context, for as long as that is there: the machine code of its
/// device, else PTX, for whose compilation the driver may take a minute. The first image of this
/// process that cannot be loaded gives a warning in the log, which ends with `instead`: what happens
/// without these kernels. Thread-safe. Throws Error{invalid_usage} where the image is empty,
/// CudaError that says all that the driver has said where it takes no form of the image.
Module load_module(const DeviceImage& image, std::string_view instead);

}  // namespace rondo::cuda
