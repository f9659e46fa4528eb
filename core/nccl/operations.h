// Calls that move data: from the C API's arguments to rondo's calls, alone or several at once.
#pragma once

#include <span>

#include "core/dispatch/asked.h"
#include "core/nccl/member.h"

namespace rondo::nccl {

/// One call of the C API, which may run on the host, too. run() makes it ready for device paths.
struct Operation : dispatch::Asked {
  std::shared_ptr<Member> member{};
};

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
ncclResult_t run(std::span<Operation> operations);

}  // namespace rondo::nccl
