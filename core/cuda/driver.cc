#include "core/cuda/driver.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "core/base/readable.h"

namespace rondo::cuda {
namespace {

/// How many libraries this process has loaded, ever.
unsigned long long libraries_loaded() {
  unsigned long long loaded = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  return loaded;
}

}  // namespace

/// Global, as the driver is: the answer does not depend on the caller.
const Driver* find_driver() {
  static std::atomic<const Driver*> found{nullptr};     // release when found, acquire to use it
  static std::atomic<unsigned long long> looked_at{0};  // release after `found`, acquire before it
  const Driver* known = found.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  const unsigned long long loaded = libraries_loaded();
  // Another thread may have looked, and found it, since this one asked for `found`.
  if (looked_at.load(std::memory_order_acquire) == loaded)
    return found.load(std::memory_order_acquire);
  if (void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) {
    known = std::make_unique<const Driver>(library).release();  // as the driver itself, it stays
    const Driver* other = nullptr;
    if (!found.compare_exchange_strong(other, known, std::memory_order_acq_rel)) {
      const std::unique_ptr<const Driver> spare(known);  // another thread was first
      known = other;
    }
  }
  looked_at.store(loaded, std::memory_order_release);
  return known;
}

const Driver& driver() {
  const Driver* const found = find_driver();
  if (found == nullptr) {
    throw Error(ErrorCode::invalid_usage, "this process has not loaded the CUDA driver",
                {.remedy = "initialise CUDA first"});
  }
  if (found->missing != nullptr) {
    throw Error(ErrorCode::invalid_usage,
                "this process's CUDA driver (of CUDA " + driver_version() + ") has no function " +
                    found->missing + ", which GPU buffers need",
                {.remedy = "use a driver of CUDA 11.7 or newer, or buffers in host memory"});
  }
  return *found;
}

std::string driver_version() {
  const Driver* const found = find_driver();
  int version = 0;
  if (found == nullptr || found->driver_get_version == nullptr ||
      found->driver_get_version(&version) != success)
    return "?";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string words_of(int status) {
  const char* name = nullptr;
  const Driver* const cuda = find_driver();
  if (cuda != nullptr && cuda->get_error_name != nullptr) cuda->get_error_name(status, &name);
  return "CUDA error " + std::to_string(status) +
         (name != nullptr ? " (" + std::string(name) + ")" : "");
}

void check(int status, std::string_view function, std::string_view remedy) {
  if (status == success) return;
  throw CudaError(ErrorCode::system, std::string(function) + " failed with " + words_of(status),
                  {.remedy = std::string(remedy)});
}

std::optional<int> device_attribute(int attribute, int device) {
  int value = 0;
  if (driver().device_get_attribute(&value, attribute, device) != success) return std::nullopt;
  return value;
}

int current_device() {
  const Driver* const found = find_driver();
  int device = 0;
  // Every driver has this one. What else is missing concerns only the callers that need it.
  check((found != nullptr ? *found : driver()).ctx_get_device(&device), "cuCtxGetDevice");
  return device;
}

bool is_device_memory(const void* pointer) {
  return pointer != nullptr &&
         pointer_attribute<unsigned>(attribute_memory_type, address_of(pointer)) == device_memory;
}

bool is_managed(DevicePointer pointer) {
  return pointer_attribute<unsigned>(attribute_managed, pointer).value_or(0) != 0;
}

MemoryInfo memory_at(const void* pointer) {
  const Driver* const cuda = find_driver();
  const auto of_program = [&] {
    return MemoryInfo{.kind = is_readable(pointer) ? MemoryKind::host : MemoryKind::none};
  };
  if (cuda == nullptr || cuda->pointer_get_attributes == nullptr) return of_program();
  unsigned type = 0;
  MemoryInfo memory;
  std::array<int, 4> attributes{attribute_memory_type, attribute_device_ordinal,
                                attribute_range_begin, attribute_range_bytes};
  std::array<void*, 4> answers{&type, &memory.device, &memory.begin, &memory.bytes};
  const int status = cuda->pointer_get_attributes(attributes.size(), attributes.data(),
                                                  answers.data(), address_of(pointer));
  if (status == success && type == device_memory) {
    memory.kind = MemoryKind::device;
    return memory;
  }
  // The driver knows neither memory that a program has by itself nor memory that it has taken back.
  const bool known =
      status == success ? type != 0 : status != invalid_value && status != not_initialized;
  return known ? MemoryInfo{} : of_program();
}

}  // namespace rondo::cuda
