// Collectives that take settings for one call (ncclAllReduceConfig and so on).
#include "core/nccl/calls.h"
#include "core/nccl/exports.h"

using namespace rondo::nccl;
using rondo::Collective;

RONDO_NCCL_EXPORT(ncclAllReduceConfig);
ncclResult_t ncclAllReduceConfig(const void* sendbuff, void* recvbuff, size_t count,
                                 ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  return combine({"ncclAllReduceConfig", sendbuff, recvbuff, count, datatype, comm, stream, config},
                 Collective::all_reduce, op);
}

RONDO_NCCL_EXPORT(ncclReduceConfig);
ncclResult_t ncclReduceConfig(const void* sendbuff, void* recvbuff, size_t count,
                              ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                              cudaStream_t stream, const ncclCollConfig_t* config) {
  return combine({"ncclReduceConfig", sendbuff, recvbuff, count, datatype, comm, stream, config},
                 Collective::reduce, op, root);
}

RONDO_NCCL_EXPORT(ncclBroadcastConfig);
ncclResult_t ncclBroadcastConfig(const void* sendbuff, void* recvbuff, size_t count,
                                 ncclDataType_t datatype, int root, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  return move({"ncclBroadcastConfig", sendbuff, recvbuff, count, datatype, comm, stream, config},
              Collective::broadcast, root);
}

RONDO_NCCL_EXPORT(ncclReduceScatterConfig);
ncclResult_t ncclReduceScatterConfig(const void* sendbuff, void* recvbuff, size_t recvcount,
                                     ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                     cudaStream_t stream, const ncclCollConfig_t* config) {
  return combine(
      {"ncclReduceScatterConfig", sendbuff, recvbuff, recvcount, datatype, comm, stream, config},
      Collective::reduce_scatter, op);
}

RONDO_NCCL_EXPORT(ncclAllGatherConfig);
ncclResult_t ncclAllGatherConfig(const void* sendbuff, void* recvbuff, size_t sendcount,
                                 ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t* config) {
  return move(
      {"ncclAllGatherConfig", sendbuff, recvbuff, sendcount, datatype, comm, stream, config},
      Collective::all_gather);
}

RONDO_NCCL_EXPORT(ncclAlltoAllConfig);
ncclResult_t ncclAlltoAllConfig(const void* sendbuff, void* recvbuff, size_t count,
                                ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                const ncclCollConfig_t* config) {
  return move({"ncclAlltoAllConfig", sendbuff, recvbuff, count, datatype, comm, stream, config},
              Collective::all_to_all);
}

RONDO_NCCL_EXPORT(ncclGatherConfig);
ncclResult_t ncclGatherConfig(const void* sendbuff, void* recvbuff, size_t count,
                              ncclDataType_t datatype, int root, ncclComm_t comm,
                              cudaStream_t stream, const ncclCollConfig_t* config) {
  return move({"ncclGatherConfig", sendbuff, recvbuff, count, datatype, comm, stream, config},
              Collective::gather, root);
}

RONDO_NCCL_EXPORT(ncclScatterConfig);
ncclResult_t ncclScatterConfig(const void* sendbuff, void* recvbuff, size_t count,
                               ncclDataType_t datatype, int root, ncclComm_t comm,
                               cudaStream_t stream, const ncclCollConfig_t* config) {
  return move({"ncclScatterConfig", sendbuff, recvbuff, count, datatype, comm, stream, config},
              Collective::scatter, root);
}
