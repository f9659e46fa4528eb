// NCCL's functions, types and operators by rondo's names for calls, and by the oracle's trials.
#pragma once

#include <stdexcept>
#include <vector>

#include "core/control/call.h"
#include "tests/nccl/members.h"
#include "tests/sanitizers.h"
#include "tests/support/oracle.h"

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

/// An operator by rondo's name. Those on bits belong to a communicator and are made for it.
inline ncclRedOp_t number_of(ReduceOperator op, ncclComm_t comm = nullptr) {
  ncclRedOp_t made = ncclSum;
  const auto on_bits = [&](rondoBitwise_t which) {
    expect(rondoRedOpCreateBitwise(&made, which, comm));
    return made;
  };
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
    case ReduceOperator::bit_and:
      return on_bits(rondoBitAnd);
    case ReduceOperator::bit_or:
      return on_bits(rondoBitOr);
    case ReduceOperator::bit_xor:
      return on_bits(rondoBitXor);
  }
  return made;
}

inline ncclResult_t make_call(const Call& call, const void* in, void* out, ncclComm_t comm,
                              cudaStream_t stream) {
  const ncclDataType_t type = number_of(call.type);
  const ncclRedOp_t op = number_of(call.op, comm);
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
    case Collective::scan:
    case Collective::exclusive_scan:
    case Collective::barrier:
    case Collective::send_recv:
      break;
  }
  throw std::runtime_error("NCCL has no such collective");
}

/// The call that the trial describes, also of blocks that differ in size.
inline ncclResult_t make_call(const Trial& trial, int rank, const void* in, void* out,
                              ncclComm_t comm, cudaStream_t stream) {
  const Case& given = trial.given();
  const Call& call = given.call;
  const ncclDataType_t type = number_of(call.type);
  if (given.between) {
    const ExchangeSide sent = sent_by(given, rank, trial.ranks());
    const ExchangeSide received = received_by(given, rank, trial.ranks());
    const bool packed = !given.displaced;
    return rondoAllToAllv(in, sent.counts.data(), packed ? nullptr : sent.displacements.data(), out,
                          received.counts.data(), packed ? nullptr : received.displacements.data(),
                          type, comm, stream);
  }
  if (given.counts.empty()) return make_call(call, in, out, comm, stream);
  const std::vector<std::size_t> copied = given.counts;  // it need not outlive the call
  const std::size_t* const counts = copied.data();
  switch (call.collective) {
    case Collective::all_gather:
      return rondoAllGatherv(in, out, counts, type, comm, stream);
    case Collective::gather:
      return rondoGatherv(in, out, counts, type, call.root, comm, stream);
    case Collective::scatter:
      return rondoScatterv(in, out, counts, type, call.root, comm, stream);
    case Collective::reduce_scatter:
      return rondoReduceScatterv(in, out, counts, type, number_of(call.op, comm), comm, stream);
    default:
      throw std::runtime_error("no call with counts");
  }
}

/// An exchange by messages, in one group. Each rank sends to itself, too.
inline void pass_messages(const Trial& trial, int rank, const std::byte* in, std::byte* out,
                          ncclComm_t comm, cudaStream_t stream) {
  const ExchangeSide sent = sent_by(trial.given(), rank, trial.ranks());
  const ExchangeSide received = received_by(trial.given(), rank, trial.ranks());
  const DataType type = trial.given().call.type;
  expect(ncclGroupStart());
  for (int peer = 0; peer < trial.ranks(); ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    expect(ncclSend(in + sent.displacements[at] * size_of(type), sent.counts[at], number_of(type),
                    peer, comm, stream));
    expect(ncclRecv(out + received.displacements[at] * size_of(type), received.counts[at],
                    number_of(type), peer, comm, stream));
  }
  expect(ncclGroupEnd());
}

/// What rank `from` sends to rank `to` in tests: not the same both ways, and nothing to some.
inline Case every_pair(DataType type, std::size_t scale, bool displaced = false) {
  return {.call = {.type = type},
          .between =
              [scale](int from, int to) {
                return static_cast<std::size_t>(from * 7 + to * 3) % 5 * scale;
              },
          .displaced = displaced};
}

/// Operators, those on bits last, that a type has, as far as this build takes them.
inline std::vector<ReduceOperator> operators_of(DataType type) {
  std::vector<ReduceOperator> all;
  for (const ReduceOperatorInfo& row : reduce_operators) {
    if (applies_to(row.op, type) && takes(type, row.op)) all.push_back(row.op);
  }
  return all;
}

}  // namespace rondo::test
