#include "tools/trainer/device/driver.h"

#include <dlfcn.h>

namespace rondo::train::device {
namespace {

void* open(const Libraries& libraries) {
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

Driver::Driver(const Libraries& libraries) {
  const Library library(open(libraries));
  library.find("cuInit", init);
  library.find("cuGetErrorName", error_name);
  library.find("cuDeviceGetCount", device_count);
  library.find("cuDeviceGet", device_get);
  library.find("cuDeviceGetAttribute", device_attribute);
  library.find("cuDevicePrimaryCtxRetain", context_retain);
  library.find("cuDevicePrimaryCtxRelease_v2", context_release);
  library.find("cuCtxSetCurrent", context_set);
  library.find("cuModuleLoadData", module_load);
  library.find("cuModuleGetFunction", module_function);
  library.find("cuLaunchKernel", launch);
  library.find("cuMemGetInfo_v2", memory_left);
  library.find("cuDeviceGetUuid_v2", device_name);
  library.find("cuMemAlloc_v2", allocate);
  library.find("cuMemFree_v2", free);
  library.find("cuMemHostRegister_v2", lock_pages);
  library.find("cuMemHostUnregister", unlock_pages);
  library.find("cuMemcpyAsync", copy);
  library.find("cuStreamCreate", stream_create);
  library.find("cuStreamDestroy_v2", stream_destroy);
  library.find("cuStreamSynchronize", stream_finish);
  library.find("cuStreamWaitEvent", stream_wait);
  library.find("cuEventCreate", event_create);
  library.find("cuEventDestroy_v2", event_destroy);
  library.find("cuEventRecord", event_record);
  library.find("cuEventSynchronize", event_finish);
}

void Driver::check(int status, std::string_view what) const {
  constexpr int out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
  if (status == 0) return;
  const char* name = nullptr;
  error_name(status, &name);
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
