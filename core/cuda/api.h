// The functions of CUDA's driver that rondo calls, by the names and with the argument types that
// libcuda.so.1 exports them: nothing of CUDA's own headers is needed to build. Handles are opaque;
// numbers are the driver's. Never linked: see driver.h.
#pragma once

#include <cstddef>

struct CUstream_st;
struct CUevent_st;
struct CUctx_st;
struct CUgraph_st;
struct CUuserObject_st;
struct CUmod_st;
struct CUfunc_st;

namespace rondo::cuda {

using Stream = CUstream_st*;
using Event = CUevent_st*;
using Context = CUctx_st*;
using Graph = CUgraph_st*;
using UserObject = CUuserObject_st*;
using Module = CUmod_st*;
using Function = CUfunc_st*;
/// CUdeviceptr. With unified addressing host memory has one, too: its own address.
using DevicePointer = unsigned long long;
using HostFunction = void (*)(void*);

/// CUuuid: the same for a device in every process that sees it.
struct Uuid {
  char bytes[16];
};

/// CUipcMemHandle: names device memory to other processes of the machine.
struct IpcHandle {
  char reserved[64];
};

/// CUmemGenericAllocationHandle: a claim on memory of cuMemCreate.
using Allocation = unsigned long long;

/// CUmemLocation.
struct MemoryLocation {
  int type = 1;  ///< CU_MEM_LOCATION_TYPE_DEVICE
  int device = 0;
};
/// CUmemAccessDesc.
struct MemoryAccess {
  MemoryLocation location{};
  int flags = 3;  ///< read_and_write
};
static_assert(sizeof(MemoryAccess) == 12);
/// CUmemAllocationProp.
struct AllocationProperties {
  int type = 1;          ///< CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;  ///< by which other processes may have it
  MemoryLocation location{};
  void* windows = nullptr;        ///< the system's
  unsigned char compression = 0;  ///< CU_MEM_ALLOCATION_COMP_NONE
  unsigned char gpu_direct = 0;   ///< 1: devices that are not GPUs may access it
  unsigned char unused[6]{};
};
static_assert(sizeof(AllocationProperties) == 32);

/// CUstreamBatchMemOpParams, as its members waitValue and writeValue lay it out.
struct MemoryOperation {
  unsigned operation = 0;
  DevicePointer address = 0;
  unsigned long long value = 0;  ///< its lower half counts
  unsigned flags = 0;
  DevicePointer alias = 0;
  unsigned long long unused = 0;
};
static_assert(sizeof(MemoryOperation) == 48 && offsetof(MemoryOperation, flags) == 24);

/// CUlaunchAttribute.
struct LaunchAttribute {
  int name = 0;
  int unused = 0;
  int value = 0;
  char rest[60]{};
};
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchAttribute, value) == 8);
/// CUlaunchConfig.
struct LaunchShape {
  unsigned blocks[3] = {1, 1, 1};
  unsigned threads[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
static_assert(sizeof(LaunchShape) == 56 && offsetof(LaunchShape, stream) == 32);

inline DevicePointer address_of(const void* pointer) {
  return reinterpret_cast<DevicePointer>(pointer);
}

/// CUresult.
inline constexpr int success = 0;
inline constexpr int invalid_value = 1;
inline constexpr int out_of_memory = 2;
inline constexpr int not_initialized = 3;
inline constexpr int deinitialized = 4;
inline constexpr int no_device = 100;
inline constexpr int invalid_context = 201;
inline constexpr int peer_access_already_enabled = 704;
inline constexpr int jit_compiler_not_found = 221;
inline constexpr int not_ready = 600;  // an event's work is under way

inline constexpr int attribute_multiprocessors = 16;   // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
inline constexpr int attribute_capability_major = 75;  // ..._COMPUTE_CAPABILITY_MAJOR
inline constexpr int attribute_capability_minor = 76;  // ..._COMPUTE_CAPABILITY_MINOR
inline constexpr int attribute_sync_domains =
    126;                                   // ..._MEM_SYNC_DOMAIN_COUNT; unknown before 12.0
inline constexpr int attribute_mps = 133;  // CU_DEVICE_ATTRIBUTE_MPS_ENABLED; unknown before 12.1
inline constexpr int attribute_segments = 102;  // ..._VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
inline constexpr int attribute_descriptors =
    103;  // ..._HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
inline constexpr int attribute_gpu_direct_segments = 110;  // ..._GPU_DIRECT_RDMA_WITH_CUDA_VMM_...
inline constexpr int p2p_performance_rank = 1;         // CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
inline constexpr int p2p_access_supported = 2;         // ..._ACCESS_SUPPORTED
inline constexpr int p2p_native_atomic_supported = 3;  // ..._NATIVE_ATOMIC_SUPPORTED
inline constexpr int attribute_memory_type = 2;        // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
inline constexpr int attribute_device_pointer = 3;     // CU_POINTER_ATTRIBUTE_DEVICE_POINTER
inline constexpr int attribute_managed = 8;            // CU_POINTER_ATTRIBUTE_IS_MANAGED
inline constexpr int attribute_device_ordinal = 9;     // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
inline constexpr int attribute_ipc_capable = 10;  // CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
inline constexpr int attribute_range_begin = 11;  // CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
inline constexpr int attribute_range_bytes = 12;  // CU_POINTER_ATTRIBUTE_RANGE_SIZE
inline constexpr int attribute_access_flags = 16;  // CU_POINTER_ATTRIBUTE_ACCESS_FLAGS
inline constexpr unsigned device_memory = 2;  // CU_MEMORYTYPE_DEVICE; managed memory says so, too

inline constexpr int file_descriptor = 1;                // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
inline constexpr int least_granularity = 0;              // CU_MEM_ALLOC_GRANULARITY_MINIMUM
inline constexpr unsigned long long read_and_write = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE

inline constexpr unsigned ipc_lazy_peer_access = 1;   // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
inline constexpr unsigned register_portable = 1;      // CU_MEMHOSTREGISTER_PORTABLE
inline constexpr unsigned register_device_map = 2;    // CU_MEMHOSTREGISTER_DEVICEMAP
inline constexpr unsigned stream_non_blocking = 1;    // CU_STREAM_NON_BLOCKING
inline constexpr unsigned event_disable_timing = 2;   // CU_EVENT_DISABLE_TIMING
inline constexpr unsigned event_record_external = 1;  // CU_EVENT_RECORD_EXTERNAL
inline constexpr unsigned event_wait_external = 1;    // CU_EVENT_WAIT_EXTERNAL
inline constexpr unsigned wait_value_reached = 0;     // CU_STREAM_WAIT_VALUE_GEQ: numbers may wrap
inline constexpr unsigned wait_value_equal = 1;       // CU_STREAM_WAIT_VALUE_EQ
inline constexpr unsigned write_value_default = 0;    // preceded by a system-wide fence
inline constexpr unsigned operation_wait_value = 1;   // CU_STREAM_MEM_OP_WAIT_VALUE_32
inline constexpr unsigned operation_write_value = 2;  // CU_STREAM_MEM_OP_WRITE_VALUE_32
inline constexpr std::size_t most_operations = 255;   // cuStreamBatchMemOp: "less than 256"

inline constexpr int launch_sync_domain = 10;  // CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
inline constexpr int remote_sync_domain = 1;   // CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE

inline constexpr int capture_active = 1;   // CU_STREAM_CAPTURE_STATUS_ACTIVE
inline constexpr int capture_relaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

inline constexpr unsigned user_object_no_destructor_sync = 1;
inline constexpr unsigned graph_user_object_move = 1;

}  // namespace rondo::cuda

extern "C" {
int cuInit(unsigned flags);
int cuGetErrorName(int status, const char** name);
int cuDriverGetVersion(int* version);
int cuPointerGetAttribute(void* data, int attribute, rondo::cuda::DevicePointer pointer);
int cuPointerGetAttributes(unsigned count, int* attributes, void** data,
                           rondo::cuda::DevicePointer pointer);

int cuCtxGetCurrent(rondo::cuda::Context* context);
int cuCtxPushCurrent_v2(rondo::cuda::Context context);
int cuCtxPopCurrent_v2(rondo::cuda::Context* context);
int cuCtxGetDevice(int* device);
int cuCtxGetId(rondo::cuda::Context context, unsigned long long* number);
int cuCtxEnablePeerAccess(rondo::cuda::Context peer, unsigned flags);

int cuDeviceGetAttribute(int* value, int attribute, int device);
int cuDeviceGetUuid_v2(rondo::cuda::Uuid* uuid, int device);
int cuDeviceGetCount(int* count);
int cuDeviceGetName(char* name, int length, int device);
int cuDeviceGetP2PAttribute(int* value, int attribute, int device, int peer);
int cuDevicePrimaryCtxRetain(rondo::cuda::Context* context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active);

int cuModuleLoadData(rondo::cuda::Module* module, const void* image);
int cuModuleGetFunction(rondo::cuda::Function* function, rondo::cuda::Module module,
                        const char* name);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, rondo::cuda::Function function,
                                                int threads, std::size_t shared_bytes);
int cuLaunchKernel(rondo::cuda::Function function, unsigned blocks_x, unsigned blocks_y,
                   unsigned blocks_z, unsigned threads_x, unsigned threads_y, unsigned threads_z,
                   unsigned shared_bytes, rondo::cuda::Stream stream, void** arguments,
                   void** extra);
int cuLaunchKernelEx(const rondo::cuda::LaunchShape* shape, rondo::cuda::Function function,
                     void** arguments, void** extra);

int cuMemAlloc_v2(rondo::cuda::DevicePointer* pointer, std::size_t bytes);
int cuMemFree_v2(rondo::cuda::DevicePointer pointer);
int cuMemFreeAsync(rondo::cuda::DevicePointer pointer, rondo::cuda::Stream stream);
int cuMemGetAddressRange_v2(rondo::cuda::DevicePointer* begin, std::size_t* bytes,
                            rondo::cuda::DevicePointer pointer);
int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags);
int cuMemHostUnregister(void* memory);
int cuMemHostGetDevicePointer_v2(rondo::cuda::DevicePointer* pointer, void* memory, unsigned flags);
int cuIpcGetMemHandle(rondo::cuda::IpcHandle* handle, rondo::cuda::DevicePointer pointer);
int cuIpcOpenMemHandle_v2(rondo::cuda::DevicePointer* pointer, rondo::cuda::IpcHandle handle,
                          unsigned flags);
int cuIpcCloseMemHandle(rondo::cuda::DevicePointer pointer);
int cuMemGetAllocationGranularity(std::size_t* bytes,
                                  const rondo::cuda::AllocationProperties* properties, int option);
int cuMemCreate(rondo::cuda::Allocation* claim, std::size_t bytes,
                const rondo::cuda::AllocationProperties* properties, unsigned long long flags);
int cuMemRetainAllocationHandle(rondo::cuda::Allocation* claim, void* address);
int cuMemRelease(rondo::cuda::Allocation claim);
int cuMemExportToShareableHandle(void* shareable, rondo::cuda::Allocation claim, int type,
                                 unsigned long long flags);
int cuMemImportFromShareableHandle(rondo::cuda::Allocation* claim, void* shareable, int type);
int cuMemAddressReserve(rondo::cuda::DevicePointer* begin, std::size_t bytes, std::size_t alignment,
                        rondo::cuda::DevicePointer wanted, unsigned long long flags);
int cuMemAddressFree(rondo::cuda::DevicePointer begin, std::size_t bytes);
int cuMemMap(rondo::cuda::DevicePointer begin, std::size_t bytes, std::size_t offset,
             rondo::cuda::Allocation claim, unsigned long long flags);
int cuMemUnmap(rondo::cuda::DevicePointer begin, std::size_t bytes);
int cuMemSetAccess(rondo::cuda::DevicePointer begin, std::size_t bytes,
                   const rondo::cuda::MemoryAccess* access, std::size_t count);
int cuMemGetAccess(unsigned long long* flags, const rondo::cuda::MemoryLocation* location,
                   rondo::cuda::DevicePointer pointer);
int cuMemcpyAsync(rondo::cuda::DevicePointer to, rondo::cuda::DevicePointer from, std::size_t bytes,
                  rondo::cuda::Stream stream);
int cuMemsetD8Async(rondo::cuda::DevicePointer to, unsigned char value, std::size_t bytes,
                    rondo::cuda::Stream stream);

int cuStreamCreate(rondo::cuda::Stream* stream, unsigned flags);
int cuStreamDestroy_v2(rondo::cuda::Stream stream);
int cuStreamSynchronize(rondo::cuda::Stream stream);
int cuStreamGetCtx(rondo::cuda::Stream stream, rondo::cuda::Context* context);
int cuStreamGetId(rondo::cuda::Stream stream, unsigned long long* number);
int cuStreamWaitEvent(rondo::cuda::Stream stream, rondo::cuda::Event event, unsigned flags);
int cuStreamWaitValue32_v2(rondo::cuda::Stream stream, rondo::cuda::DevicePointer address,
                           unsigned value, unsigned flags);
int cuStreamWriteValue32_v2(rondo::cuda::Stream stream, rondo::cuda::DevicePointer address,
                            unsigned value, unsigned flags);
int cuStreamBatchMemOp_v2(rondo::cuda::Stream stream, unsigned count,
                          rondo::cuda::MemoryOperation* operations, unsigned flags);
int cuLaunchHostFunc(rondo::cuda::Stream stream, rondo::cuda::HostFunction function, void* data);

int cuEventCreate(rondo::cuda::Event* event, unsigned flags);
int cuEventDestroy_v2(rondo::cuda::Event event);
int cuEventRecord(rondo::cuda::Event event, rondo::cuda::Stream stream);
int cuEventRecordWithFlags(rondo::cuda::Event event, rondo::cuda::Stream stream, unsigned flags);
int cuEventSynchronize(rondo::cuda::Event event);
int cuEventQuery(rondo::cuda::Event event);

int cuThreadExchangeStreamCaptureMode(int* mode);
int cuStreamGetCaptureInfo_v2(rondo::cuda::Stream stream, int* status, unsigned long long* id,
                              rondo::cuda::Graph* graph, const void** dependencies,
                              std::size_t* dependency_count);
int cuUserObjectCreate(rondo::cuda::UserObject* object, void* data,
                       rondo::cuda::HostFunction destroy, unsigned references, unsigned flags);
int cuUserObjectRelease(rondo::cuda::UserObject object, unsigned references);
int cuGraphRetainUserObject(rondo::cuda::Graph graph, rondo::cuda::UserObject object,
                            unsigned references, unsigned flags);
}
