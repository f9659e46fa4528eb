// NCCL's functions, types and operators by rondo's names for calls.
#pragma once

#include <stdexcept>
#include <vector>

#include "core/control/call.h"
#include "core/nccl/include/nccl.h"

namespace rondo::test {

struct NcclType {
  DataType type;
  ncclDataType_t number;
};
inline const std::vector<NcclType> nccl_types{{DataType::int8, ncclInt8},
                                              {DataType::uint8, ncclUint8},
                                              {DataType::int32, ncclInt32},
                                              {DataType::uint32, ncclUint32},
                                              {DataType::int64, ncclInt64},
                                              {DataType::uint64, ncclUint64},
                                              {DataType::float16, ncclFloat16},
                                              {DataType::bfloat16, ncclBfloat16},
                                              {DataType::float32, ncclFloat32},
                                              {DataType::float64, ncclFloat64},
                                              {DataType::float8_e4m3, ncclFloat8e4m3},
                                              {DataType::float8_e5m2, ncclFloat8e5m2}};

inline ncclDataType_t number_of(DataType type) {
  for (const NcclType& each : nccl_types) {
    if (each.type == type) return each.number;
  }
  throw std::runtime_error("NCCL has no such type");
}

inline ncclRedOp_t number_of(ReduceOperator op) {
  switch (op) {
    case ReduceOperator::sum:
      return ncclSum;
    case ReduceOperator::prod:
      return ncclProd;
    case ReduceOperator::min:
      return ncclMin;
    case ReduceOperator::max:
      return ncclMax;
    case ReduceOperator::avg:
      return ncclAvg;
    default:
      break;
  }
  throw std::runtime_error("NCCL has no such operator");
}

inline ncclResult_t make_call(const Call& call, const void* in, void* out, ncclComm_t comm,
                              cudaStream_t stream) {
  const ncclDataType_t type = number_of(call.type);
  const ncclRedOp_t op = number_of(call.op);
  switch (call.collective) {
    case Collective::all_reduce:
      return ncclAllReduce(in, out, call.count, type, op, comm, stream);
    case Collective::reduce_scatter:
      return ncclReduceScatter(in, out, call.count, type, op, comm, stream);
    case Collective::reduce:
      return ncclReduce(in, out, call.count, type, op, call.root, comm, stream);
    case Collective::all_gather:
      return ncclAllGather(in, out, call.count, type, comm, stream);
    case Collective::broadcast:
      return ncclBroadcast(in, out, call.count, type, call.root, comm, stream);
    case Collective::all_to_all:
      return ncclAlltoAll(in, out, call.count, type, comm, stream);
    case Collective::scatter:
      return ncclScatter(in, out, call.count, type, call.root, comm, stream);
    case Collective::gather:
      return ncclGather(in, out, call.count, type, call.root, comm, stream);
    case Collective::barrier:
    case Collective::send_recv:
      break;
  }
  throw std::runtime_error("NCCL has no such collective");
}

}  // namespace rondo::test
