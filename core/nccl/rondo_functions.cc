// rondo's own functions for programs of the C API (rondo/nccl.h).
#include <array>
#include <string>

#include "core/communicator/exchange.h"
#include "core/nccl/calls.h"
#include "core/nccl/exports.h"
#include "core/nccl/handles.h"
#include "core/nccl/include/rondo/nccl.h"

namespace rondo::nccl {
namespace {

ReduceOperator bitwise(int which) {
  constexpr std::array operators{ReduceOperator::bit_and, ReduceOperator::bit_or,
                                 ReduceOperator::bit_xor};
  if (which < 0 || which >= static_cast<int>(operators.size())) {
    throw Error(ErrorCode::invalid_argument,
                "bitwise operator " + std::to_string(which) + " is unknown",
                {.remedy = "use a rondoBitwise_t"});
  }
  return operators[static_cast<std::size_t>(which)];
}

/// One rank's part of an all-to-all, as messages.
std::vector<Operation> messages_of(const std::shared_ptr<Member>& member,
                                   const detail::Exchange& exchange, cudaStream_t stream) {
  const detail::CommunicatorState& state = member->state();
  detail::check_exchange(exchange, state.rank(), state.size());
  std::vector<Operation> operations;
  for (const detail::PairMessage& each : detail::messages_of(exchange, state.rank())) {
    operations.push_back({{.request = {.call = each.message.call,
                                       .input = each.input,
                                       .output = each.output,
                                       .peer = each.message.peer,
                                       .sends = each.message.sends,
                                       .stream = stream}},
                          member});
  }
  return operations;
}

/// `displacements` may be null.
Blocks blocks_of(const std::size_t* counts, const std::size_t* displacements, const char* name,
                 int ranks) {
  require(counts, name);
  const auto size = static_cast<std::size_t>(ranks);
  return {{counts, size}, {displacements, displacements != nullptr ? size : 0}};
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;
using rondo::Collective;

RONDO_NCCL_EXPORT(rondoCommSetTimeout);
ncclResult_t rondoCommSetTimeout(ncclComm_t comm, unsigned int milliseconds) {
  return guarded("rondoCommSetTimeout",
                 [&] { member_of(comm)->set_timeout(std::chrono::milliseconds(milliseconds)); });
}

RONDO_NCCL_EXPORT(rondoRedOpCreateBitwise);
ncclResult_t rondoRedOpCreateBitwise(ncclRedOp_t* op, rondoBitwise_t which, ncclComm_t comm) {
  return guarded("rondoRedOpCreateBitwise", [&] {
    require(op, "op");
    const auto member = member_of(comm);
    member->parent();
    *op = member->operators().add({.op = bitwise(static_cast<int>(which))}, fresh_number());
  });
}

RONDO_NCCL_EXPORT(rondoAllGatherv);
ncclResult_t rondoAllGatherv(const void* sendbuff, void* recvbuff, const size_t* counts,
                             ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return move_ragged({"rondoAllGatherv", sendbuff, recvbuff, 0, datatype, comm, stream},
                     Collective::all_gather, counts);
}

RONDO_NCCL_EXPORT(rondoReduceScatterv);
ncclResult_t rondoReduceScatterv(const void* sendbuff, void* recvbuff, const size_t* counts,
                                 ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                 cudaStream_t stream) {
  return combine_ragged({"rondoReduceScatterv", sendbuff, recvbuff, 0, datatype, comm, stream},
                        Collective::reduce_scatter, counts, op);
}

RONDO_NCCL_EXPORT(rondoGatherv);
ncclResult_t rondoGatherv(const void* sendbuff, void* recvbuff, const size_t* counts,
                          ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream) {
  return move_ragged({"rondoGatherv", sendbuff, recvbuff, 0, datatype, comm, stream},
                     Collective::gather, counts, root);
}

RONDO_NCCL_EXPORT(rondoScatterv);
ncclResult_t rondoScatterv(const void* sendbuff, void* recvbuff, const size_t* counts,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return move_ragged({"rondoScatterv", sendbuff, recvbuff, 0, datatype, comm, stream},
                     Collective::scatter, counts, root);
}

RONDO_NCCL_EXPORT(rondoAllToAllv);
ncclResult_t rondoAllToAllv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls,
                            void* recvbuff, const size_t* recvcounts, const size_t* rdispls,
                            ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return guarded_in_group("rondoAllToAllv", [&] {
    const auto member = member_of(comm);
    const int ranks = member->state().size();
    return issue(messages_of(member,
                             {.input = sendbuff,
                              .output = recvbuff,
                              .type = type_of(datatype),
                              .sent = blocks_of(sendcounts, sdispls, "sendcounts", ranks),
                              .received = blocks_of(recvcounts, rdispls, "recvcounts", ranks)},
                             stream));
  });
}
