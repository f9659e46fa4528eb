// Many calls of co-resident kernels, one after another, beside a load on the same device.
#pragma once

#include <cstddef>

namespace rondo::gpu_test {

struct Soak {
  std::size_t launches = 0;    ///< of all ranks and kinds together
  double seconds = 0;          ///< then nothing new is begun
  std::size_t load_bytes = 0;  ///< of the load's buffers; a launch of it goes beside each call
};

/// Makes the calls and reports how many. Every output of every launch is checked, on the device.
/// Returns how many kinds of calls went wrong. Device 0's context is to be current.
int soak(const Soak& wanted);

}  // namespace rondo::gpu_test
