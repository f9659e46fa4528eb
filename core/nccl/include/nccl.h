// NCCL's C API as rondo serves it: libnccl.so.2. C11 and C++. core/nccl/README.md lists what each
// function does here, and what differs from NCCL.
//
// Names, numbers and layouts are those of NCCL 2.32. Programs built with NVIDIA's header of that or
// an earlier version work with this library. It adapts to the version that a program was built with
// (ncclConfig_t.version). Programs built with this header work with NVIDIA's library. Where CUDA's
// headers are missing, the two CUDA types below are declared as CUDA declares them.
//
// Calls on GPU buffers follow their streams. Calls on host buffers are in no stream's order. They
// are complete when they, or the outermost ncclGroupEnd, return. With blocking = 0 they return
// ncclInProgress, and are complete when ncclCommGetAsyncError says ncclSuccess.
#pragma once
#ifndef NCCL_H_
#define NCCL_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include) && !defined(RONDO_NCCL_PLAIN)
#if __has_include(<cuda_runtime.h>)
#include <cuda_bf16.h>  // programs count on these three, as NVIDIA's header has them
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#if defined(__cplusplus) && CUDART_VERSION >= 11080
#include <cuda_fp8.h>
#endif
#define RONDO_NCCL_HAS_CUDA
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RONDO_NCCL_HAS_CUDA
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
#endif

// Some programs, such as nccl-tests, take NCCL's device API from nccl_device.h if the version has
// one. That header is code of NCCL's own kernels. Such programs define RONDO_NCCL_NO_DEVICE_API.
// Then this header gives the last version without a device API.
#define NCCL_MAJOR 2
#ifdef RONDO_NCCL_NO_DEVICE_API
#define NCCL_MINOR 27
#define NCCL_PATCH 7
#define NCCL_VERSION_CODE 22707
#else
#define NCCL_MINOR 32
#define NCCL_PATCH 3
#define NCCL_VERSION_CODE 23203
#endif
#define NCCL_SUFFIX ""
#define NCCL_VERSION(x, y, z) \
  ((x) < 2 || ((x) == 2 && (y) <= 8) ? (x)*1000 + (y)*100 + (z) : (x)*10000 + (y)*100 + (z))

// Handles. Only this library knows what they stand for.
typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;
typedef struct ncclParamHandle* ncclParamHandle_t;
#define NCCL_COMM_NULL NULL

#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclTimeout = 8,
  ncclNumResults = 9
} ncclResult_t;

// clang-format off
typedef enum {
  ncclInt8 = 0, ncclChar = 0, ncclUint8 = 1,
  ncclInt32 = 2, ncclInt = 2, ncclUint32 = 3,
  ncclInt64 = 4, ncclUint64 = 5,
  ncclFloat16 = 6, ncclHalf = 6, ncclFloat32 = 7, ncclFloat = 7, ncclFloat64 = 8, ncclDouble = 8,
  ncclBfloat16 = 9, ncclFloat8e4m3 = 10, ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;
// clang-format on

typedef enum { ncclNumOps_dummy = 5 } ncclRedOp_dummy_t;
// Operators that a program makes lie between ncclNumOps and ncclMaxRedOp.
typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

// When a scalar is read: as the collective runs, or before ncclRedOpCreatePreMulSum returns.
typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

typedef enum {
  ncclStatGpuMemSuspend = 0,
  ncclStatGpuMemSuspended = 1,
  ncclStatGpuMemPersist = 2,
  ncclStatGpuMemTotal = 3
} ncclCommMemStat_t;

#define NCCL_API_MAGIC 0xcafebeef
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT -1.0f
#define NCCL_SPLIT_NOCOLOR -1
#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_STRICT_ORDERING 0x02
#define NCCL_WIN_GIN_ONLY 0x04
#define NCCL_WIN_CFT_COUNTED 0x08
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096
#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02
#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01
#define NCCL_REVOKE_DEFAULT 0x00
#define NCCL_SUSPEND_MEM 0x01

// A communicator's settings. Begin with NCCL_CONFIG_INITIALIZER. `blocking` is obeyed; the others
// steer GPUs and networks of NCCL's and are accepted without effect.
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
  int graphUsageMode;
  int numRmaCtx;
  int maxP2pPeers;
  int graphStreamOrdering;
  int launchOrderImplicit;
  int numRmaSig;
  int rmaEagerInit;
  int hostCftMode;
  int nvlsHostMode;
} ncclConfig_t;

// clang-format off
// Values of hostCftMode, and of nvlsHostMode, where 1 and 2 are flags.
typedef enum {
  ncclHostCftDefault = NCCL_CONFIG_UNDEF_INT,
  ncclHostCftEnable = 1, ncclHostCftDisable = 2, ncclHostCftFallback = 3
} ncclHostCftMode_t;
typedef enum {
  ncclNvlsHostModeDefault = NCCL_CONFIG_UNDEF_INT, ncclNvlsHostModeEnable = 0,
  ncclNvlsHostModeDisableTransport = 1, ncclNvlsHostModeDisableSymmetricMultimem = 2,
  ncclNvlsHostModeDisable = INT_MAX
} ncclNvlsHostMode_t;

#define NCCL_CONFIG_INITIALIZER                                                                  \
  {                                                                                              \
    sizeof(ncclConfig_t), NCCL_API_MAGIC, NCCL_VERSION_CODE,                                     \
    NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,  \
    NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR,  \
    NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,  \
    NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,  \
    NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,  \
    NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT                          \
  }
// clang-format on

// Vendors' options for one call, in a list. rondo's are in rondo/nccl.h; others are ignored.
typedef struct ncclConfigExt {
  struct ncclConfigExt* next;
  struct {
    int vendorId;
    int optionId;
  } key;
  union {
    int i;
    const char* s;
    void* raw;
  } val;
} ncclConfigExt_t;

// One call's settings. Begin with NCCL_COLLCONFIG_INITIALIZER. An algorithm cannot be chosen for
// one call: `algSelection` with `forceAlgSelection` is refused. `ext` is the only other
// member that counts.
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  ncclConfigExt_t* ext;
  int minCTAs;
  int maxCTAs;
  int nvlsCTAs;
  int cgaClusterSize;
  const char* algSelection;
  int forceAlgSelection;
  int CTAPolicy;
  uint64_t userProfilerTag;
  cudaEvent_t launchCompletionEvent;
} ncclCollConfig_t;

// clang-format off
#define NCCL_COLLCONFIG_INITIALIZER                                                              \
  {                                                                                              \
    sizeof(ncclCollConfig_t), NCCL_API_MAGIC, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_PTR,          \
    NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,  \
    NCCL_CONFIG_UNDEF_PTR, 1, NCCL_CONFIG_UNDEF_INT, 0, NCCL_CONFIG_UNDEF_PTR                    \
  }
// clang-format on

// What ncclGroupSimulateEnd fills in: microseconds, by rondo's cost model.
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  float estimatedTime;
} ncclSimInfo_t;
#define NCCL_SIM_INFO_INITIALIZER \
  { sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION_CODE, NCCL_UNDEF_FLOAT }

typedef struct {
  int opCnt;
  int peer;
  int sigIdx;
  int ctx;
} ncclWaitSignalDesc_t;

typedef struct ncclEncryptionConfig ncclEncryptionConfig_t;

// Every function exists twice: a profiler may define ncclX itself and call pncclX.
#define RONDO_NCCL_DECLARE(result, name, ...) \
  result name(__VA_ARGS__);                   \
  result p##name(__VA_ARGS__)

// The library.
RONDO_NCCL_DECLARE(ncclResult_t, ncclGetVersion, int* version);
RONDO_NCCL_DECLARE(const char*, ncclGetErrorString, ncclResult_t result);
RONDO_NCCL_DECLARE(const char*, ncclGetLastError, ncclComm_t comm);
RONDO_NCCL_DECLARE(void, ncclResetDebugInit, void);
RONDO_NCCL_DECLARE(ncclResult_t, ncclSetEncryption, const ncclEncryptionConfig_t* config);

// Making communicators.
RONDO_NCCL_DECLARE(ncclResult_t, ncclGetUniqueId, ncclUniqueId* uniqueId);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommInitRank, ncclComm_t* comm, int nranks,
                   ncclUniqueId commId, int rank);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommInitRankConfig, ncclComm_t* comm, int nranks,
                   ncclUniqueId commId, int rank, ncclConfig_t* config);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommInitRankScalable, ncclComm_t* newcomm, int nranks,
                   int myrank, int nId, ncclUniqueId* commIds, ncclConfig_t* config);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommInitAll, ncclComm_t* comm, int ndev, const int* devlist);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommSplit, ncclComm_t comm, int color, int key,
                   ncclComm_t* newcomm, ncclConfig_t* config);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommShrink, ncclComm_t comm, int* excludeRanksList,
                   int excludeRanksCount, ncclComm_t* newcomm, ncclConfig_t* config,
                   int shrinkFlags);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommGetUniqueId, ncclComm_t comm, ncclUniqueId* uniqueId);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommGrow, ncclComm_t comm, int nRanks,
                   const ncclUniqueId* uniqueId, int rank, ncclComm_t* newcomm,
                   ncclConfig_t* config);

// Their life and end.
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommFinalize, ncclComm_t comm);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommDestroy, ncclComm_t comm);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommAbort, ncclComm_t comm);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommRevoke, ncclComm_t comm, int revokeFlags);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t* asyncError);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommCount, const ncclComm_t comm, int* count);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommCuDevice, const ncclComm_t comm, int* device);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommUserRank, const ncclComm_t comm, int* rank);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommSuspend, ncclComm_t comm, int flags);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommResume, ncclComm_t comm);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommMemStats, ncclComm_t comm, ncclCommMemStat_t stat,
                   uint64_t* value);

// Memory.
RONDO_NCCL_DECLARE(ncclResult_t, ncclMemAlloc, void** ptr, size_t size);
RONDO_NCCL_DECLARE(ncclResult_t, ncclMemFree, void* ptr);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommRegister, const ncclComm_t comm, void* buff, size_t size,
                   void** handle);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommDeregister, const ncclComm_t comm, void* handle);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommWindowRegister, ncclComm_t comm, void* buff, size_t size,
                   ncclWindow_t* win, int winFlags);
RONDO_NCCL_DECLARE(ncclResult_t, ncclCommWindowDeregister, ncclComm_t comm, ncclWindow_t win);
RONDO_NCCL_DECLARE(ncclResult_t, ncclWinGetUserPtr, ncclComm_t comm, ncclWindow_t win,
                   void** outUserPtr);

// Operators.
RONDO_NCCL_DECLARE(ncclResult_t, ncclRedOpCreatePreMulSum, ncclRedOp_t* op, void* scalar,
                   ncclDataType_t datatype, ncclScalarResidence_t residence, ncclComm_t comm);
RONDO_NCCL_DECLARE(ncclResult_t, ncclRedOpDestroy, ncclRedOp_t op, ncclComm_t comm);

// Collectives. Counts are elements of one rank's block where there are blocks.
RONDO_NCCL_DECLARE(ncclResult_t, ncclAllReduce, const void* sendbuff, void* recvbuff, size_t count,
                   ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclReduce, const void* sendbuff, void* recvbuff, size_t count,
                   ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                   cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclBcast, void* buff, size_t count, ncclDataType_t datatype,
                   int root, ncclComm_t comm, cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclBroadcast, const void* sendbuff, void* recvbuff, size_t count,
                   ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclReduceScatter, const void* sendbuff, void* recvbuff,
                   size_t recvcount, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                   cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclAllGather, const void* sendbuff, void* recvbuff,
                   size_t sendcount, ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclAlltoAll, const void* sendbuff, void* recvbuff, size_t count,
                   ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGather, const void* sendbuff, void* recvbuff, size_t count,
                   ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclScatter, const void* sendbuff, void* recvbuff, size_t count,
                   ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);

// The same with settings of the call; NULL: none.
RONDO_NCCL_DECLARE(ncclResult_t, ncclAllReduceConfig, const void* sendbuff, void* recvbuff,
                   size_t count, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                   cudaStream_t stream, const ncclCollConfig_t* config);
RONDO_NCCL_DECLARE(ncclResult_t, ncclReduceConfig, const void* sendbuff, void* recvbuff,
                   size_t count, ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                   cudaStream_t stream, const ncclCollConfig_t* config);
RONDO_NCCL_DECLARE(ncclResult_t, ncclBroadcastConfig, const void* sendbuff, void* recvbuff,
                   size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                   cudaStream_t stream, const ncclCollConfig_t* config);
RONDO_NCCL_DECLARE(ncclResult_t, ncclReduceScatterConfig, const void* sendbuff, void* recvbuff,
                   size_t recvcount, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                   cudaStream_t stream, const ncclCollConfig_t* config);
RONDO_NCCL_DECLARE(ncclResult_t, ncclAllGatherConfig, const void* sendbuff, void* recvbuff,
                   size_t sendcount, ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                   const ncclCollConfig_t* config);
RONDO_NCCL_DECLARE(ncclResult_t, ncclAlltoAllConfig, const void* sendbuff, void* recvbuff,
                   size_t count, ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                   const ncclCollConfig_t* config);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGatherConfig, const void* sendbuff, void* recvbuff,
                   size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                   cudaStream_t stream, const ncclCollConfig_t* config);
RONDO_NCCL_DECLARE(ncclResult_t, ncclScatterConfig, const void* sendbuff, void* recvbuff,
                   size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                   cudaStream_t stream, const ncclCollConfig_t* config);

// Messages. Those that wait for each other belong in a group.
RONDO_NCCL_DECLARE(ncclResult_t, ncclSend, const void* sendbuff, size_t count,
                   ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclRecv, void* recvbuff, size_t count, ncclDataType_t datatype,
                   int peer, ncclComm_t comm, cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclPutSignal, const void* localbuff, size_t count,
                   ncclDataType_t datatype, int peer, ncclWindow_t peerWin, size_t peerWinOffset,
                   int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclSignal, int peer, int sigIdx, int ctx, unsigned int flags,
                   ncclComm_t comm, cudaStream_t stream);
RONDO_NCCL_DECLARE(ncclResult_t, ncclWaitSignal, int nDesc, ncclWaitSignalDesc_t* signalDescs,
                   ncclComm_t comm, cudaStream_t stream);

// Groups.
RONDO_NCCL_DECLARE(ncclResult_t, ncclGroupStart, void);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGroupEnd, void);
RONDO_NCCL_DECLARE(ncclResult_t, ncclGroupSimulateEnd, ncclSimInfo_t* simInfo);

// The settings in force, by NCCL's names.
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamBind, ncclParamHandle_t* out, const char* key);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetI8, ncclParamHandle_t h, int8_t* out);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetI16, ncclParamHandle_t h, int16_t* out);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetI32, ncclParamHandle_t h, int32_t* out);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetI64, ncclParamHandle_t h, int64_t* out);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetU8, ncclParamHandle_t h, uint8_t* out);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetU16, ncclParamHandle_t h, uint16_t* out);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetU32, ncclParamHandle_t h, uint32_t* out);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetU64, ncclParamHandle_t h, uint64_t* out);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetStr, ncclParamHandle_t h, const char** out);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGet, ncclParamHandle_t h, void* out, int maxLen,
                   int* len);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetParameter, const char* key, const char** value,
                   int* valueLen);
RONDO_NCCL_DECLARE(ncclResult_t, ncclParamGetAllParameterKeys, const char*** table, int* tableLen);
RONDO_NCCL_DECLARE(void, ncclParamDumpAll, void);

#ifdef __cplusplus
}
#endif

#endif
