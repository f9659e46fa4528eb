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

std::unique_ptr<Driver> read_functions(void* library) {
  auto found = std::make_unique<Driver>();
  const auto find = [&]<class Function>(void* from, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(from, name));
    if (function == nullptr && found->missing == nullptr) found->missing = name;
  };
  find(library, "cuGetErrorName", found->get_error_name);
  find(library, "cuDriverGetVersion", found->driver_get_version);
  find(library, "cuPointerGetAttribute", found->pointer_get_attribute);
  find(library, "cuPointerGetAttributes", found->pointer_get_attributes);
  find(library, "cuCtxGetCurrent", found->ctx_get_current);
  find(library, "cuCtxPushCurrent_v2", found->ctx_push_current);
  find(library, "cuCtxPopCurrent_v2", found->ctx_pop_current);
  find(library, "cuCtxGetDevice", found->ctx_get_device);
  find(library, "cuCtxEnablePeerAccess", found->ctx_enable_peer_access);
  find(library, "cuDeviceGetAttribute", found->device_get_attribute);
  find(library, "cuDeviceGetUuid_v2", found->device_get_uuid);
  find(library, "cuDeviceGetCount", found->device_get_count);
  find(library, "cuDeviceGetName", found->device_get_name);
  find(library, "cuDeviceGetP2PAttribute", found->device_get_p2p_attribute);
  find(library, "cuDevicePrimaryCtxRetain", found->device_primary_ctx_retain);
  find(library, "cuDevicePrimaryCtxRelease_v2", found->device_primary_ctx_release);
  find(library, "cuDevicePrimaryCtxGetState", found->device_primary_ctx_get_state);
  find(library, "cuModuleLoadData", found->module_load_data);
  find(library, "cuModuleGetFunction", found->module_get_function);
  find(library, "cuOccupancyMaxActiveBlocksPerMultiprocessor", found->occupancy_blocks);
  find(library, "cuLaunchKernel", found->launch_kernel);
  find(library, "cuMemAlloc_v2", found->mem_alloc);
  find(library, "cuMemFree_v2", found->mem_free);
  find(library, "cuMemFreeAsync", found->mem_free_async);
  find(library, "cuMemGetAddressRange_v2", found->mem_get_address_range);
  find(library, "cuMemHostRegister_v2", found->mem_host_register);
  find(library, "cuMemHostUnregister", found->mem_host_unregister);
  find(library, "cuMemHostGetDevicePointer_v2", found->mem_host_get_device_pointer);
  find(library, "cuIpcGetMemHandle", found->ipc_get_mem_handle);
  find(library, "cuIpcOpenMemHandle_v2", found->ipc_open_mem_handle);
  find(library, "cuIpcCloseMemHandle", found->ipc_close_mem_handle);
  find(library, "cuMemcpyAsync", found->memcpy_async);
  find(library, "cuMemsetD8Async", found->memset_async);
  find(library, "cuStreamCreate", found->stream_create);
  find(library, "cuStreamDestroy_v2", found->stream_destroy);
  find(library, "cuStreamSynchronize", found->stream_synchronize);
  find(library, "cuStreamGetCtx", found->stream_get_ctx);
  find(library, "cuStreamWaitEvent", found->stream_wait_event);
  find(library, "cuStreamWaitValue32_v2", found->stream_wait_value);
  find(library, "cuStreamWriteValue32_v2", found->stream_write_value);
  find(library, "cuStreamBatchMemOp_v2", found->stream_batch_mem_op);
  find(library, "cuLaunchHostFunc", found->launch_host_func);
  find(library, "cuEventCreate", found->event_create);
  find(library, "cuEventDestroy_v2", found->event_destroy);
  find(library, "cuEventRecord", found->event_record);
  find(library, "cuEventRecordWithFlags", found->event_record_with_flags);
  find(library, "cuEventSynchronize", found->event_synchronize);
  find(library, "cuEventQuery", found->event_query);
  find(library, "cuThreadExchangeStreamCaptureMode", found->thread_exchange_stream_capture_mode);
  find(library, "cuStreamGetCaptureInfo_v2", found->stream_get_capture_info);
  find(library, "cuUserObjectCreate", found->user_object_create);
  find(library, "cuUserObjectRelease", found->user_object_release);
  find(library, "cuGraphRetainUserObject", found->graph_retain_user_object);
  find(library, "cuMemRetainAllocationHandle", found->mem_retain_allocation_handle);
  find(library, "cuMemRelease", found->mem_release);
  find(library, "cuMemExportToShareableHandle", found->mem_export_to_shareable_handle);
  find(library, "cuMemImportFromShareableHandle", found->mem_import_from_shareable_handle);
  find(library, "cuMemAddressReserve", found->mem_address_reserve);
  find(library, "cuMemAddressFree", found->mem_address_free);
  find(library, "cuMemMap", found->mem_map);
  find(library, "cuMemUnmap", found->mem_unmap);
  find(library, "cuMemSetAccess", found->mem_set_access);
  find(library, "cuMemGetAccess", found->mem_get_access);
  find(library, "cuMemGetAllocationGranularity", found->mem_get_allocation_granularity);
  find(library, "cuMemCreate", found->mem_create);
  find(library, "cuMemGetHandleForAddressRange", found->mem_get_handle_for_address_range);
  found->ctx_get_id = reinterpret_cast<decltype(&cuCtxGetId)>(::dlsym(library, "cuCtxGetId"));
  return found;
}

/// "11.4", or "?" where it does not tell.
std::string version_of(const Driver& driver) {
  int version = 0;
  if (driver.driver_get_version == nullptr || driver.driver_get_version(&version) != success)
    return "?";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
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
    known = read_functions(library).release();  // as the driver itself, it stays
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
                "this process's CUDA driver (of CUDA " + version_of(*found) + ") has no function " +
                    found->missing + ", which GPU buffers need",
                {.remedy = "use a driver of CUDA 11.7 or newer, or buffers in host memory"});
  }
  return *found;
}

void check(int status, std::string_view function, std::string_view remedy) {
  if (status == success) return;
  const char* name = nullptr;
  const Driver* const cuda = find_driver();
  if (cuda != nullptr && cuda->get_error_name != nullptr) cuda->get_error_name(status, &name);
  throw CudaError(ErrorCode::system,
                  std::string(function) + " failed with CUDA error " + std::to_string(status) +
                      (name != nullptr ? " (" + std::string(name) + ")" : ""),
                  {.remedy = std::string(remedy)});
}

int current_device() {
  const Driver* const found = find_driver();
  int device = 0;
  // Every driver has this one. What else is missing concerns only the callers that need it.
  check((found != nullptr ? *found : driver()).ctx_get_device(&device), "cuCtxGetDevice");
  return device;
}

bool is_device_memory(const void* pointer) {
  const Driver* const cuda = find_driver();
  if (cuda == nullptr || pointer == nullptr || cuda->pointer_get_attribute == nullptr) return false;
  unsigned type = 0;
  const int status = cuda->pointer_get_attribute(&type, attribute_memory_type, address_of(pointer));
  return status == success && type == device_memory;
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
