#include "tools/trainer/device/driver.h"

#include <dlfcn.h>

#include "rondo/error.h"

namespace rondo::train::device {
namespace {

void* open_driver(const Libraries& libraries) {
  if (void* const handle = ::dlopen(libraries.driver.c_str(), RTLD_LAZY | RTLD_LOCAL))
    return handle;
  throw Error(ErrorCode::invalid_usage,
              "there is no GPU that could be used: this machine has no " + libraries.driver,
              {.remedy = "run where NVIDIA's driver is installed, or with --device cpu"});
}

}  // namespace

void* Library::symbol(const char* name) const {
  if (void* const found = ::dlsym(handle_, name)) return found;
  throw Error(ErrorCode::invalid_usage,
              std::string("this machine's CUDA libraries have no function ") + name,
              {.remedy = "a newer driver and libcublas (CUDA 11.7 or later), or --device cpu"});
}

Driver::Driver(const Libraries& libraries) : Library(open_driver(libraries)) {}

void Driver::check(int status, std::string_view what) const {
  constexpr int out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
  if (status == 0) return;
  const char* name = nullptr;
  this->status("cuGetErrorName", status, &name);
  const std::string said = std::string(what) + " failed with CUDA error " + std::to_string(status) +
                           (name != nullptr ? " (" + std::string(name) + ")" : "");
  if (status == out_of_memory) {
    throw Error(ErrorCode::out_of_memory, said,
                {.remedy = "a smaller model or batch, --checkpoint-activations, --offload "
                           "optimizer, or a strategy that shards (zero3 most)"});
  }
  throw Error(ErrorCode::system, said,
              {.remedy = "look for an earlier failure of CUDA, or run with --device cpu"});
}

}  // namespace rondo::train::device
