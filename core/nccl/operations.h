// Calls that move data: from the C API's arguments to rondo's calls, alone or many at once.
#pragma once

#include <span>

#include "core/control/call.h"
#include "core/nccl/member.h"

namespace rondo::nccl {

/// One call of the C API.
struct Operation {
  std::shared_ptr<Member> member{};
  Call call{};
  const void* input = nullptr;
  void* output = nullptr;
  int peer = 0;        ///< of a message
  bool sends = false;  ///< a message's direction
  std::shared_ptr<const PreMultiplication> factor{};
  cudaStream_t stream = nullptr;
};

/// Throws Error{invalid_argument} that says which argument is wrong, Error{invalid_usage} for a
/// communicator that cannot be used.
void check_arguments(const Operation& operation);

/// Checks and runs one. With buffers on a device, or in a stream that is being captured: puts it
/// into its stream. On a communicator that does not block: begins it, returns ncclInProgress.
ncclResult_t run(const Operation& operation);
/// Runs all of them, checked before, together, on any communicators, and ends none of them early
/// when another one fails; then throws the first failure.
ncclResult_t run(std::span<const Operation> operations);

}  // namespace rondo::nccl
