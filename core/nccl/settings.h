// The settings that programs pass as structs.
#pragma once

#include <optional>

#include "core/cuda/contexts.h"
#include "core/nccl/include/nccl.h"
#include "rondo/types.h"

namespace rondo::nccl {

/// The part of a communicator's settings that matters here.
struct Traits {
  bool blocking = true;
  cuda::SharedContext context{};  ///< of the streams that calls will come in, if it is known
  int device = 0;                 ///< as ncclCommCuDevice tells it; without CUDA only a number
};

/// `config` may be null and may be of any version of NCCL: only the part that it says it has is
/// read. `inherited`: where it says nothing. NCCL_COMM_BLOCKING wins over both. Throws
/// Error{invalid_argument}.
Traits read_traits(const ncclConfig_t* config, const Traits& inherited);

/// The part of one call's settings that matters here: rondo's own options in their list.
struct CallSettings {
  std::optional<DataType> accumulate{};  ///< none: as the communicator does
  bool reproducible = false;             ///< false: likewise
};

/// `config` may be null. Throws Error{invalid_argument}, and Error{invalid_usage} for what cannot
/// be done for one call.
CallSettings read_call_settings(const ncclCollConfig_t* config);

}  // namespace rondo::nccl
