// CUDA's driver as this process has it: one table of functions, found at run time.
//
// Nothing here is linked: a program without a GPU needs no libcuda.so.1, and rondo never meets two
// versions of the CUDA runtime, as it uses none. See also api.h and handles.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/symbols.h"
#include "core/cuda/api.h"
#include "rondo/error.h"

namespace rondo::cuda {

/// The driver refused what we asked of it.
class CudaError : public Error {
 public:
  using Error::Error;
};

/// Functions of libcuda.so.1, by its names without "cu" and version. A driver of CUDA 11.7 has all
/// but the last ones. An older one has at least those that stand here before the one that `missing`
/// names.
struct Driver {
  /// `library`: as dlopen() returned it.
  explicit Driver(void* library) : find(library) {}
  Symbols find;

  decltype(&cuGetErrorName) get_error_name = find("cuGetErrorName");
  decltype(&cuDriverGetVersion) driver_get_version = find("cuDriverGetVersion");
  decltype(&cuPointerGetAttribute) pointer_get_attribute = find("cuPointerGetAttribute");
  decltype(&cuPointerGetAttributes) pointer_get_attributes = find("cuPointerGetAttributes");
  decltype(&cuCtxGetCurrent) ctx_get_current = find("cuCtxGetCurrent");
  decltype(&cuCtxPushCurrent_v2) ctx_push_current = find("cuCtxPushCurrent_v2");
  decltype(&cuCtxPopCurrent_v2) ctx_pop_current = find("cuCtxPopCurrent_v2");
  decltype(&cuCtxGetDevice) ctx_get_device = find("cuCtxGetDevice");
  decltype(&cuCtxEnablePeerAccess) ctx_enable_peer_access = find("cuCtxEnablePeerAccess");
  decltype(&cuDeviceGetAttribute) device_get_attribute = find("cuDeviceGetAttribute");
  decltype(&cuDeviceGetUuid_v2) device_get_uuid = find("cuDeviceGetUuid_v2");
  decltype(&cuDeviceGetCount) device_get_count = find("cuDeviceGetCount");
  decltype(&cuDeviceGetName) device_get_name = find("cuDeviceGetName");
  decltype(&cuDeviceGetP2PAttribute) device_get_p2p_attribute = find("cuDeviceGetP2PAttribute");
  decltype(&cuDevicePrimaryCtxRetain) device_primary_ctx_retain = find("cuDevicePrimaryCtxRetain");
  decltype(&cuDevicePrimaryCtxRelease_v2) device_primary_ctx_release =
      find("cuDevicePrimaryCtxRelease_v2");
  decltype(&cuDevicePrimaryCtxGetState) device_primary_ctx_get_state =
      find("cuDevicePrimaryCtxGetState");
  decltype(&cuModuleLoadData) module_load_data = find("cuModuleLoadData");
  decltype(&cuModuleGetFunction) module_get_function = find("cuModuleGetFunction");
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy_blocks =
      find("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  decltype(&cuLaunchKernel) launch_kernel = find("cuLaunchKernel");
  decltype(&cuMemAlloc_v2) mem_alloc = find("cuMemAlloc_v2");
  decltype(&cuMemFree_v2) mem_free = find("cuMemFree_v2");
  decltype(&cuMemFreeAsync) mem_free_async = find("cuMemFreeAsync");
  decltype(&cuMemGetAddressRange_v2) mem_get_address_range = find("cuMemGetAddressRange_v2");
  decltype(&cuMemHostRegister_v2) mem_host_register = find("cuMemHostRegister_v2");
  decltype(&cuMemHostUnregister) mem_host_unregister = find("cuMemHostUnregister");
  decltype(&cuMemHostGetDevicePointer_v2) mem_host_get_device_pointer =
      find("cuMemHostGetDevicePointer_v2");
  decltype(&cuIpcGetMemHandle) ipc_get_mem_handle = find("cuIpcGetMemHandle");
  decltype(&cuIpcOpenMemHandle_v2) ipc_open_mem_handle = find("cuIpcOpenMemHandle_v2");
  decltype(&cuIpcCloseMemHandle) ipc_close_mem_handle = find("cuIpcCloseMemHandle");
  decltype(&cuMemcpyAsync) memcpy_async = find("cuMemcpyAsync");
  decltype(&cuMemsetD8Async) memset_async = find("cuMemsetD8Async");
  decltype(&cuStreamCreate) stream_create = find("cuStreamCreate");
  decltype(&cuStreamDestroy_v2) stream_destroy = find("cuStreamDestroy_v2");
  decltype(&cuStreamSynchronize) stream_synchronize = find("cuStreamSynchronize");
  decltype(&cuStreamGetCtx) stream_get_ctx = find("cuStreamGetCtx");
  decltype(&cuStreamWaitEvent) stream_wait_event = find("cuStreamWaitEvent");
  decltype(&cuStreamWaitValue32_v2) stream_wait_value = find("cuStreamWaitValue32_v2");
  decltype(&cuStreamWriteValue32_v2) stream_write_value = find("cuStreamWriteValue32_v2");
  decltype(&cuStreamBatchMemOp_v2) stream_batch_mem_op = find("cuStreamBatchMemOp_v2");
  decltype(&cuLaunchHostFunc) launch_host_func = find("cuLaunchHostFunc");
  decltype(&cuEventCreate) event_create = find("cuEventCreate");
  decltype(&cuEventDestroy_v2) event_destroy = find("cuEventDestroy_v2");
  decltype(&cuEventRecord) event_record = find("cuEventRecord");
  decltype(&cuEventRecordWithFlags) event_record_with_flags = find("cuEventRecordWithFlags");
  decltype(&cuEventSynchronize) event_synchronize = find("cuEventSynchronize");
  decltype(&cuEventQuery) event_query = find("cuEventQuery");
  decltype(&cuThreadExchangeStreamCaptureMode) thread_exchange_stream_capture_mode =
      find("cuThreadExchangeStreamCaptureMode");
  decltype(&cuStreamGetCaptureInfo_v2) stream_get_capture_info = find("cuStreamGetCaptureInfo_v2");
  decltype(&cuUserObjectCreate) user_object_create = find("cuUserObjectCreate");
  decltype(&cuUserObjectRelease) user_object_release = find("cuUserObjectRelease");
  decltype(&cuGraphRetainUserObject) graph_retain_user_object = find("cuGraphRetainUserObject");
  decltype(&cuMemRetainAllocationHandle) mem_retain_allocation_handle =
      find("cuMemRetainAllocationHandle");
  decltype(&cuMemRelease) mem_release = find("cuMemRelease");
  decltype(&cuMemExportToShareableHandle) mem_export_to_shareable_handle =
      find("cuMemExportToShareableHandle");
  decltype(&cuMemImportFromShareableHandle) mem_import_from_shareable_handle =
      find("cuMemImportFromShareableHandle");
  decltype(&cuMemAddressReserve) mem_address_reserve = find("cuMemAddressReserve");
  decltype(&cuMemAddressFree) mem_address_free = find("cuMemAddressFree");
  decltype(&cuMemMap) mem_map = find("cuMemMap");
  decltype(&cuMemUnmap) mem_unmap = find("cuMemUnmap");
  decltype(&cuMemSetAccess) mem_set_access = find("cuMemSetAccess");
  decltype(&cuMemGetAccess) mem_get_access = find("cuMemGetAccess");
  decltype(&cuMemGetAllocationGranularity) mem_get_allocation_granularity =
      find("cuMemGetAllocationGranularity");
  decltype(&cuMemCreate) mem_create = find("cuMemCreate");

  decltype(&cuCtxGetId) ctx_get_id = find.look_for("cuCtxGetId");           ///< since CUDA 12
  decltype(&cuStreamGetId) stream_get_id = find.look_for("cuStreamGetId");  ///< since CUDA 12
  decltype(&cuLaunchKernelEx) launch_kernel_ex = find.look_for("cuLaunchKernelEx");  ///< since 11.8

  const char* missing = find.missing();  ///< a function that an older driver lacks; null: none
};

/// The driver, if this process has loaded it; else null. Other code may load it at any time; then
/// it stays. Thread-safe. Cheap if nothing was loaded since the last call. It may be older than
/// CUDA 11.7: a caller that may not have device memory must check `missing`, or the function it
/// wants.
const Driver* find_driver();

/// The same for callers that need the driver with all its functions, because they have device
/// memory or a stream. Throws Error{invalid_usage} if it is missing or older than CUDA 11.7.
const Driver& driver();

/// The version of CUDA that the driver is of: "11.4", or "?" where it does not tell. For messages.
std::string driver_version();

/// "CUDA error 200 (CUDA_ERROR_INVALID_IMAGE)".
std::string words_of(int status);

/// Throws CudaError that names `function` and the status; `remedy`: what to try.
void check(int status, std::string_view function,
           std::string_view remedy = "look for an earlier failure of CUDA in this process");

/// An attribute of the memory at `pointer`; nothing where the driver does not tell, or is not there.
template <class Value>
std::optional<Value> pointer_attribute(int attribute, DevicePointer pointer) {
  const Driver* const cuda = find_driver();
  Value value{};
  if (cuda == nullptr || cuda->pointer_get_attribute == nullptr ||
      cuda->pointer_get_attribute(&value, attribute, pointer) != success)
    return std::nullopt;
  return value;
}

/// An attribute of a device; nothing where the driver does not tell.
std::optional<int> device_attribute(int attribute, int device);

/// The number of the current context's device. Throws CudaError.
int current_device();

/// Whether `pointer` is a device's (or managed) memory. Without the driver, and where it was not
/// initialised: never. Thread-safe.
bool is_device_memory(const void* pointer);

/// Whether all devices reach it, as the driver moves it. Likewise.
bool is_managed(DevicePointer pointer);

/// What a program may have given as a buffer.
enum class MemoryKind { host, device, none };
/// Memory at an address.
struct MemoryInfo {
  MemoryKind kind = MemoryKind::host;
  int device = -1;  ///< the device that has it, if the driver says so; -1: none
  /// The block of device memory that it is in. More of the same may follow. No bytes: not known.
  DevicePointer begin = 0;
  std::size_t bytes = 0;
};
/// What is at that address: memory of a device (or managed memory), memory that this process can
/// read, or neither, such as freed memory. Asks the driver once, if there is one. Memory of the
/// host that the driver does not know costs a system call. Thread-safe.
MemoryInfo memory_at(const void* pointer);

}  // namespace rondo::cuda
