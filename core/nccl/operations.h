// Calls that move data: from the C API's arguments to rondo's calls, alone or several at once.
#pragma once

#include <span>

#include "core/control/call.h"
#include "core/nccl/member.h"
#include "core/stream/check_memory.h"

namespace rondo::nccl {

/// One call of the C API.
struct Operation {
  std::shared_ptr<Member> member{};
  Call call{};
  std::vector<std::size_t> counts{};  ///< of its blocks, where they differ (core/plan/ragged.h)
  const void* input = nullptr;
  void* output = nullptr;
  stream::Locations where{};  ///< as check_arguments() found them
  int peer = 0;               ///< of a message
  bool sends = false;         ///< a message's direction
  std::shared_ptr<const PreMultiplication> factor{};
  cudaStream_t stream = nullptr;
};

/// Else it is a collective.
inline bool is_message(const Operation& operation) {
  return operation.call.collective == Collective::send_recv;
}

/// Throws Error{invalid_argument} that says which argument is wrong, Error{invalid_usage} for a
/// communicator that cannot be used. Looks at buffers, too, where the process uses CUDA or
/// RONDO_CHECK_POINTERS asks for it: see core/stream/check_memory.h, whose answer the operation
/// keeps.
void check_arguments(Operation& operation);

/// Checks and runs one. With buffers on a device, or in a stream that is being captured, it puts it
/// into its stream. On a communicator that does not block, it begins it and returns ncclInProgress.
ncclResult_t run(Operation operation);
/// Runs all of them together, on any communicators. They were checked before. None ends early when
/// another one fails. Then it throws the first failure.
ncclResult_t run(std::span<const Operation> operations);

}  // namespace rondo::nccl
