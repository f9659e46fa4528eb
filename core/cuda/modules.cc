#include "core/cuda/modules.h"

#include <atomic>
#include <chrono>
#include <sstream>
#include <string>

#include "core/base/log.h"

namespace rondo::cuda {
namespace {

int attribute_of(int attribute, int device) {
  int value = 0;
  check(driver().device_get_attribute(&value, attribute, device), "cuDeviceGetAttribute");
  return value;
}

/// Of the current context's device; 90: 9.0.
int capability() {
  const int device = current_device();
  return 10 * attribute_of(attribute_capability_major, device) +
         attribute_of(attribute_capability_minor, device);
}

/// A driver without its compiler needs machine code; all others compile PTX, if it is not too new.
std::string remedy_for(int status, int capability) {
  if (capability < ptx_capability)
    return "a GPU of compute capability " + words_of_capability(ptx_capability) + " or newer";
  if (status == jit_compiler_not_found) {
    return "install the driver's libnvidia-ptxjitcompiler.so.1, or build rondo for this GPU: "
           "RONDO_CUDA_ARCHITECTURES=" +
           std::to_string(capability);
  }
  return "a driver of CUDA 11.7 or newer, or look for an earlier failure of CUDA in this process";
}

void tell(const ImageForm& form, std::chrono::steady_clock::duration took) {
  if (!log_enabled(LogLevel::info, LogSubsystem::init)) return;
  std::ostringstream text;
  text.precision(2);
  text << "device kernels: " << form.words << ", loaded by the driver (of CUDA " << driver_version()
       << ") in " << std::fixed << std::chrono::duration<double>(took).count() << " s";
  log(LogLevel::info, -1, text.str(), LogSubsystem::init);
}

Module load_any(const DeviceImage& image) {
  const int device = capability();
  const std::vector<ImageForm> forms = forms_for(image, device);
  if (forms.empty()) {
    throw Error(ErrorCode::invalid_usage, "this rondo has no device kernels",
                {.remedy = "build rondo where nvcc is found"});
  }
  std::string refusals;
  int last = success;
  for (const ImageForm& form : forms) {
    Module module = nullptr;
    const auto begun = std::chrono::steady_clock::now();
    last = driver().module_load_data(&module, form.data);
    if (last == success) {
      tell(form, std::chrono::steady_clock::now() - begun);
      return module;
    }
    refusals += (refusals.empty() ? "" : ", ") + form.words + ": " + words_of(last);
  }
  throw CudaError(ErrorCode::system,
                  "this CUDA driver (of CUDA " + driver_version() +
                      ") takes no device kernels of this rondo for a GPU of compute capability " +
                      words_of_capability(device) + " (" + refusals + ")",
                  {.remedy = remedy_for(last, device)});
}

/// Global, as there is one log: every communicator and context meets the same driver.
void warn_once(std::string_view what) {
  static std::atomic<bool> has_warned{false};  // relaxed: nothing else depends on it
  if (has_warned.exchange(true, std::memory_order_relaxed)) return;
  log(LogLevel::warn, -1, what, LogSubsystem::init);
}

}  // namespace

Module load_module(const DeviceImage& image, std::string_view instead) {
  try {
    return load_any(image);
  } catch (const std::exception& error) {
    warn_once(std::string(error.what()) + ". Without them, " + std::string(instead));
    throw;
  }
}

}  // namespace rondo::cuda
