// Collectives with settings of their own: the settings are checked, then the plain call is made.
#include "core/nccl/errors.h"
#include "core/nccl/exports.h"
#include "core/nccl/groups.h"
#include "core/nccl/settings.h"

namespace rondo::nccl {
namespace {

template <class Call>
ncclResult_t with_settings(const char* function, const ncclCollConfig_t* config, Call&& call) {
  const ncclResult_t checked = guarded_in_group(function, [&] {
    check_call_settings(config);
    return ncclSuccess;
  });
  return checked == ncclSuccess ? call() : checked;
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclAllReduceConfig);
ncclResult_t ncclAllReduceConfig(const void* sendbuff, void* recvbuff, size_t count,
                                 ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  return with_settings("ncclAllReduceConfig", config, [&] {
    return pncclAllReduce(sendbuff, recvbuff, count, datatype, op, comm, stream);
  });
}

RONDO_NCCL_EXPORT(ncclReduceConfig);
ncclResult_t ncclReduceConfig(const void* sendbuff, void* recvbuff, size_t count,
                              ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                              cudaStream_t stream, const ncclCollConfig_t* config) {
  return with_settings("ncclReduceConfig", config, [&] {
    return pncclReduce(sendbuff, recvbuff, count, datatype, op, root, comm, stream);
  });
}

RONDO_NCCL_EXPORT(ncclBroadcastConfig);
ncclResult_t ncclBroadcastConfig(const void* sendbuff, void* recvbuff, size_t count,
                                 ncclDataType_t datatype, int root, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  return with_settings("ncclBroadcastConfig", config, [&] {
    return pncclBroadcast(sendbuff, recvbuff, count, datatype, root, comm, stream);
  });
}

RONDO_NCCL_EXPORT(ncclReduceScatterConfig);
ncclResult_t ncclReduceScatterConfig(const void* sendbuff, void* recvbuff, size_t recvcount,
                                     ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                     cudaStream_t stream, const ncclCollConfig_t* config) {
  return with_settings("ncclReduceScatterConfig", config, [&] {
    return pncclReduceScatter(sendbuff, recvbuff, recvcount, datatype, op, comm, stream);
  });
}

RONDO_NCCL_EXPORT(ncclAllGatherConfig);
ncclResult_t ncclAllGatherConfig(const void* sendbuff, void* recvbuff, size_t sendcount,
                                 ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t* config) {
  return with_settings("ncclAllGatherConfig", config, [&] {
    return pncclAllGather(sendbuff, recvbuff, sendcount, datatype, comm, stream);
  });
}

RONDO_NCCL_EXPORT(ncclAlltoAllConfig);
ncclResult_t ncclAlltoAllConfig(const void* sendbuff, void* recvbuff, size_t count,
                                ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                const ncclCollConfig_t* config) {
  return with_settings("ncclAlltoAllConfig", config, [&] {
    return pncclAlltoAll(sendbuff, recvbuff, count, datatype, comm, stream);
  });
}

RONDO_NCCL_EXPORT(ncclGatherConfig);
ncclResult_t ncclGatherConfig(const void* sendbuff, void* recvbuff, size_t count,
                              ncclDataType_t datatype, int root, ncclComm_t comm,
                              cudaStream_t stream, const ncclCollConfig_t* config) {
  return with_settings("ncclGatherConfig", config, [&] {
    return pncclGather(sendbuff, recvbuff, count, datatype, root, comm, stream);
  });
}

RONDO_NCCL_EXPORT(ncclScatterConfig);
ncclResult_t ncclScatterConfig(const void* sendbuff, void* recvbuff, size_t count,
                               ncclDataType_t datatype, int root, ncclComm_t comm,
                               cudaStream_t stream, const ncclCollConfig_t* config) {
  return with_settings("ncclScatterConfig", config, [&] {
    return pncclScatter(sendbuff, recvbuff, count, datatype, root, comm, stream);
  });
}
