// The operations of a model on a device.
#pragma once

#include <memory>

#include "tools/trainer/device/device.h"
#include "tools/trainer/math/math.h"

namespace rondo::train::device {

/// float32 only. The device outlives it.
std::unique_ptr<Math<float>> make_math(const Device& device, const Libraries& libraries);

}  // namespace rondo::train::device
