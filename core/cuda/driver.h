// CUDA's driver as this process has it: one table of functions, found at run time.
//
// Nothing here is linked: a program without a GPU needs no libcuda.so.1, and rondo never meets two
// versions of the CUDA runtime, as it uses none. See also api.h and handles.h.
#pragma once

#include <string_view>

#include "core/cuda/api.h"
#include "rondo/error.h"

namespace rondo::cuda {

/// The driver refused what we asked of it.
class CudaError : public Error {
 public:
  using Error::Error;
};

/// Functions of libcuda.so.1, by its names without "cu" and version. A driver of CUDA 11.7 has all
/// but `ctx_get_id`. An older one has at least those that stand here before the one that `missing`
/// names.
struct Driver {
  decltype(&cuGetErrorName) get_error_name = nullptr;
  decltype(&cuDriverGetVersion) driver_get_version = nullptr;
  decltype(&cuPointerGetAttribute) pointer_get_attribute = nullptr;
  decltype(&cuPointerGetAttributes) pointer_get_attributes = nullptr;
  decltype(&cuCtxGetCurrent) ctx_get_current = nullptr;
  decltype(&cuCtxPushCurrent_v2) ctx_push_current = nullptr;
  decltype(&cuCtxPopCurrent_v2) ctx_pop_current = nullptr;
  decltype(&cuCtxGetDevice) ctx_get_device = nullptr;
  decltype(&cuCtxEnablePeerAccess) ctx_enable_peer_access = nullptr;
  decltype(&cuDeviceGetAttribute) device_get_attribute = nullptr;
  decltype(&cuDeviceGetUuid_v2) device_get_uuid = nullptr;
  decltype(&cuDeviceGetCount) device_get_count = nullptr;
  decltype(&cuDeviceGetName) device_get_name = nullptr;
  decltype(&cuDeviceGetP2PAttribute) device_get_p2p_attribute = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) device_primary_ctx_retain = nullptr;
  decltype(&cuDevicePrimaryCtxRelease_v2) device_primary_ctx_release = nullptr;
  decltype(&cuDevicePrimaryCtxGetState) device_primary_ctx_get_state = nullptr;
  decltype(&cuModuleLoadData) module_load_data = nullptr;
  decltype(&cuModuleGetFunction) module_get_function = nullptr;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy_blocks = nullptr;
  decltype(&cuLaunchKernel) launch_kernel = nullptr;
  decltype(&cuMemAlloc_v2) mem_alloc = nullptr;
  decltype(&cuMemFree_v2) mem_free = nullptr;
  decltype(&cuMemFreeAsync) mem_free_async = nullptr;
  decltype(&cuMemGetAddressRange_v2) mem_get_address_range = nullptr;
  decltype(&cuMemHostRegister_v2) mem_host_register = nullptr;
  decltype(&cuMemHostUnregister) mem_host_unregister = nullptr;
  decltype(&cuMemHostGetDevicePointer_v2) mem_host_get_device_pointer = nullptr;
  decltype(&cuIpcGetMemHandle) ipc_get_mem_handle = nullptr;
  decltype(&cuIpcOpenMemHandle_v2) ipc_open_mem_handle = nullptr;
  decltype(&cuIpcCloseMemHandle) ipc_close_mem_handle = nullptr;
  decltype(&cuMemcpyAsync) memcpy_async = nullptr;
  decltype(&cuMemsetD8Async) memset_async = nullptr;
  decltype(&cuStreamCreate) stream_create = nullptr;
  decltype(&cuStreamDestroy_v2) stream_destroy = nullptr;
  decltype(&cuStreamSynchronize) stream_synchronize = nullptr;
  decltype(&cuStreamGetCtx) stream_get_ctx = nullptr;
  decltype(&cuStreamWaitEvent) stream_wait_event = nullptr;
  decltype(&cuStreamWaitValue32_v2) stream_wait_value = nullptr;
  decltype(&cuStreamWriteValue32_v2) stream_write_value = nullptr;
  decltype(&cuStreamBatchMemOp_v2) stream_batch_mem_op = nullptr;
  decltype(&cuLaunchHostFunc) launch_host_func = nullptr;
  decltype(&cuEventCreate) event_create = nullptr;
  decltype(&cuEventDestroy_v2) event_destroy = nullptr;
  decltype(&cuEventRecord) event_record = nullptr;
  decltype(&cuEventRecordWithFlags) event_record_with_flags = nullptr;
  decltype(&cuEventSynchronize) event_synchronize = nullptr;
  decltype(&cuEventQuery) event_query = nullptr;
  decltype(&cuThreadExchangeStreamCaptureMode) thread_exchange_stream_capture_mode = nullptr;
  decltype(&cuStreamGetCaptureInfo_v2) stream_get_capture_info = nullptr;
  decltype(&cuUserObjectCreate) user_object_create = nullptr;
  decltype(&cuUserObjectRelease) user_object_release = nullptr;
  decltype(&cuGraphRetainUserObject) graph_retain_user_object = nullptr;
  decltype(&cuMemRetainAllocationHandle) mem_retain_allocation_handle = nullptr;
  decltype(&cuMemRelease) mem_release = nullptr;
  decltype(&cuMemExportToShareableHandle) mem_export_to_shareable_handle = nullptr;
  decltype(&cuMemImportFromShareableHandle) mem_import_from_shareable_handle = nullptr;
  decltype(&cuMemAddressReserve) mem_address_reserve = nullptr;
  decltype(&cuMemAddressFree) mem_address_free = nullptr;
  decltype(&cuMemMap) mem_map = nullptr;
  decltype(&cuMemUnmap) mem_unmap = nullptr;
  decltype(&cuMemSetAccess) mem_set_access = nullptr;
  decltype(&cuMemGetAccess) mem_get_access = nullptr;
  decltype(&cuMemGetAllocationGranularity) mem_get_allocation_granularity = nullptr;
  decltype(&cuMemCreate) mem_create = nullptr;
  decltype(&cuMemGetHandleForAddressRange) mem_get_handle_for_address_range = nullptr;

  decltype(&cuCtxGetId) ctx_get_id = nullptr;  ///< since CUDA 12; never `missing`

  const char* missing = nullptr;  ///< a function that an older driver lacks; null: none
};

/// The driver, if this process has loaded it; else null. Other code may load it at any time; then
/// it stays. Thread-safe. Cheap if nothing was loaded since the last call. It may be older than
/// CUDA 11.7: a caller that may not have device memory must check `missing`, or the function it
/// wants.
const Driver* find_driver();

/// The same for callers that need the driver with all its functions, because they have device
/// memory or a stream. Throws Error{invalid_usage} if it is missing or older than CUDA 11.7.
const Driver& driver();

/// Throws CudaError that names `function` and the status; `remedy`: what to try.
void check(int status, std::string_view function,
           std::string_view remedy = "look for an earlier failure of CUDA in this process");

/// The number of the current context's device. Throws CudaError.
int current_device();

/// Whether `pointer` is a device's (or managed) memory. Without the driver, and where it was not
/// initialised: never. Thread-safe.
bool is_device_memory(const void* pointer);

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
