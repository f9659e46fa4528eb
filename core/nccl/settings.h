// The settings that programs pass as structs.
#pragma once

#include "core/cuda/api.h"
#include "core/nccl/include/nccl.h"

namespace rondo::nccl {

/// What of a communicator's settings matters here.
struct Traits {
  bool blocking = true;
  cuda::Context context = nullptr;  ///< of the streams that calls will come in, if it is known
  int device = 0;                   ///< as ncclCommCuDevice tells it; without CUDA only a number
};

/// `config` may be null and may be of any version of NCCL: only the part that it says it has is
/// read. `inherited`: where it says nothing. NCCL_COMM_BLOCKING wins over both. Throws
/// Error{invalid_argument}.
Traits read_traits(const ncclConfig_t* config, const Traits& inherited);

/// One call's settings. Throws Error{invalid_argument}, and Error{invalid_usage} for what cannot be
/// done for one call.
void check_call_settings(const ncclCollConfig_t* config);

}  // namespace rondo::nccl
