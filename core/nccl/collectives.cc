// Collectives, messages, groups and operators.
#include <string>

#include "core/nccl/calls.h"
#include "core/nccl/exports.h"
#include "core/nccl/handles.h"
#include "core/nccl/memory.h"

namespace rondo::nccl {
namespace {

ncclRedOp_t make_operator(void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence,
                          Member& member) {
  require(scalar, "scalar");
  const auto number = static_cast<int>(residence);
  if (number != ncclScalarDevice && number != ncclScalarHostImmediate) {
    throw Error(ErrorCode::invalid_argument,
                "scalar residence " + std::to_string(number) + " is unknown",
                {.remedy = "use ncclScalarHostImmediate or ncclScalarDevice"});
  }
  if (number == ncclScalarHostImmediate) require_host(scalar, "the scalar");
  auto factor = std::make_shared<const PreMultiplication>(type_of(datatype), scalar,
                                                          number == ncclScalarDevice);
  return member.operators().add({.factor = std::move(factor)}, fresh_number());
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;
using rondo::Collective;

RONDO_NCCL_EXPORT(ncclAllReduce);
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return combine({"ncclAllReduce", sendbuff, recvbuff, count, datatype, comm, stream},
                 Collective::all_reduce, op);
}

RONDO_NCCL_EXPORT(ncclReduce);
ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return combine({"ncclReduce", sendbuff, recvbuff, count, datatype, comm, stream},
                 Collective::reduce, op, root);
}

RONDO_NCCL_EXPORT(ncclReduceScatter);
ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return combine({"ncclReduceScatter", sendbuff, recvbuff, recvcount, datatype, comm, stream},
                 Collective::reduce_scatter, op);
}

RONDO_NCCL_EXPORT(ncclBcast);
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return move({"ncclBcast", buff, buff, count, datatype, comm, stream}, Collective::broadcast,
              root);
}

RONDO_NCCL_EXPORT(ncclBroadcast);
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return move({"ncclBroadcast", sendbuff, recvbuff, count, datatype, comm, stream},
              Collective::broadcast, root);
}

RONDO_NCCL_EXPORT(ncclAllGather);
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return move({"ncclAllGather", sendbuff, recvbuff, sendcount, datatype, comm, stream},
              Collective::all_gather);
}

RONDO_NCCL_EXPORT(ncclAlltoAll);
ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return move({"ncclAlltoAll", sendbuff, recvbuff, count, datatype, comm, stream},
              Collective::all_to_all);
}

RONDO_NCCL_EXPORT(ncclGather);
ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return move({"ncclGather", sendbuff, recvbuff, count, datatype, comm, stream}, Collective::gather,
              root);
}

RONDO_NCCL_EXPORT(ncclScatter);
ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  return move({"ncclScatter", sendbuff, recvbuff, count, datatype, comm, stream},
              Collective::scatter, root);
}

RONDO_NCCL_EXPORT(ncclSend);
ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return pass({"ncclSend", sendbuff, nullptr, count, datatype, comm, stream}, true, peer);
}

RONDO_NCCL_EXPORT(ncclRecv);
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return pass({"ncclRecv", nullptr, recvbuff, count, datatype, comm, stream}, false, peer);
}

RONDO_NCCL_EXPORT(ncclGroupStart);
ncclResult_t ncclGroupStart() {
  start_group();
  return ncclSuccess;
}

RONDO_NCCL_EXPORT(ncclGroupEnd);
ncclResult_t ncclGroupEnd() { return guarded("ncclGroupEnd", end_group); }

RONDO_NCCL_EXPORT(ncclRedOpCreatePreMulSum);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  return guarded("ncclRedOpCreatePreMulSum", [&] {
    require(op, "op");
    const auto member = member_of(comm);
    member->parent();
    *op = make_operator(scalar, datatype, residence, *member);
  });
}

RONDO_NCCL_EXPORT(ncclRedOpDestroy);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return guarded("ncclRedOpDestroy", [&] { member_of(comm)->operators().remove(op); });
}
