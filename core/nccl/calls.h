// Turns the arguments of a function of the C API into an operation, and issues it: it runs now, or
// waits in the thread's group.
#pragma once

#include "core/nccl/groups.h"

namespace rondo::nccl {

/// What all functions that move data have.
struct Arguments {
  const char* function;
  const void* input;
  void* output;
  std::size_t count;
  ncclDataType_t type;
  ncclComm_t comm;
  cudaStream_t stream;
  const ncclCollConfig_t* config = nullptr;  ///< the call's settings; null: none
};

/// A collective that combines nothing.
ncclResult_t move(const Arguments& given, Collective collective, int root = 0);
/// A collective that combines contributions.
ncclResult_t combine(const Arguments& given, Collective collective, ncclRedOp_t op, int root = 0);
/// With blocks of the `counts` of each rank, whose size `given.count` is not read. Null is an
/// error.
ncclResult_t move_ragged(const Arguments& given, Collective collective, const std::size_t* counts,
                         int root = 0);
ncclResult_t combine_ragged(const Arguments& given, Collective collective,
                            const std::size_t* counts, ncclRedOp_t op);
/// A message to `peer`, or from it.
ncclResult_t pass(const Arguments& given, bool sends, int peer);

}  // namespace rondo::nccl
