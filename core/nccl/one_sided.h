// One-sided calls of the C API: on windows in GPU memory in the order of streams, or on windows in
// host memory.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/nccl/exports.h"
#include "core/nccl/member.h"

namespace rondo::nccl {

/// A put, a signal or a wait for signals, checked.
struct OneSidedCall {
  std::shared_ptr<Member> member{};
  bool waits = false;      ///< for peers; else it ends by itself
  bool in_stream = false;  ///< it returns at once
  std::function<void()> call{};
};

/// Makes the calls of one communicator, in order. Waits on one that does not block go on in the
/// background; then it returns ncclInProgress. `begun`: it may have other calls under way.
ncclResult_t run(std::span<const OneSidedCall> calls, bool begun = false);

}  // namespace rondo::nccl
