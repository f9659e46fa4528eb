#include "core/cuda/modules.h"

#include <algorithm>

namespace rondo::cuda {
namespace {

int processors() {
  int count = 0;
  check(driver().device_get_attribute(&count, attribute_multiprocessors, current_device()),
        "cuDeviceGetAttribute");
  return count;
}

}  // namespace

Module load_module(std::span<const std::byte> image) {
  if (image.empty()) {
    throw Error(ErrorCode::invalid_usage, "this rondo has no device kernels",
                {.remedy = "build rondo where nvcc is found"});
  }
  Module module = nullptr;
  check(driver().module_load_data(&module, image.data()), "cuModuleLoadData");
  return module;
}

Kernel find_kernel(Module module, const char* name, unsigned threads) {
  Kernel kernel;
  int blocks = 0;
  check(driver().module_get_function(&kernel.function, module, name), "cuModuleGetFunction");
  check(driver().occupancy_blocks(&blocks, kernel.function, static_cast<int>(threads), 0),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  kernel.blocks = static_cast<unsigned>(std::max(1, blocks * processors()));
  return kernel;
}

}  // namespace rondo::cuda
