// CUDA contexts with owners: a context stays as long as one of them holds it. The primary context
// of a device is the one that CUDA's runtime uses too.
#pragma once

#include <memory>

#include "core/cuda/driver.h"

namespace rondo::cuda {

/// A context that stays as long as this is held; null: none.
using SharedContext = std::shared_ptr<CUctx_st>;

/// A context that the program promises to keep. Null for null.
SharedContext borrowed(Context context);

/// The primary context of `device`. It is given back when the last holder lets go, which must not
/// happen in a host function. If giving it back fails, the log says so. Thread-safe. Throws
/// CudaError that names the device.
SharedContext retain_primary(int device);
/// The same; null where CUDA is not initialised, or the driver lacks what device calls need.
SharedContext primary_if_there(int device);

/// Tells a context from all others of this process, also from one that had its address before; 0
/// where the driver is older than CUDA 12, and knows none. Thread-safe. Throws CudaError.
unsigned long long number_of(Context context);

/// Devices that this process can use; 0 without the driver, and where it was not initialised.
/// Thread-safe.
int device_count();

}  // namespace rondo::cuda
