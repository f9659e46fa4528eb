// One-sided calls of the C API, on windows in host memory.
#pragma once

#include <functional>
#include <memory>

#include "core/nccl/exports.h"
#include "core/nccl/member.h"

namespace rondo::nccl {

/// A put, a signal or a wait for signals, checked.
struct OneSidedCall {
  std::shared_ptr<Member> member{};
  bool waits = false;  ///< for peers; else it ends by itself
  std::function<void()> call{};
};

/// Whether windows of this process have such calls: not where GPUs can be used, whose memory peers
/// reach in other ways.
bool has_one_sided_calls();

/// Makes the call. A wait on a communicator that does not block goes on in the background; then it
/// returns ncclInProgress.
ncclResult_t run(const OneSidedCall& call);

}  // namespace rondo::nccl
