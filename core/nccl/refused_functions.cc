// Functions that rondo does not serve. The symbols exist, so that programs load. A call returns an
// error that says why, or nothing.
#include <type_traits>

#include "core/nccl/device_functions.h"
#include "core/nccl/errors.h"
#include "core/nccl/exports.h"
#include "core/nccl/symbols.h"

namespace rondo::nccl {
namespace {

template <class Result>
Result refused(const char* function) {
  [[maybe_unused]] const ncclResult_t result = guarded(function, [&] { refuse(function); });
  if constexpr (std::is_same_v<Result, ncclResult_t>) {
    return result;
  } else {
    return {};
  }
}

}  // namespace
}  // namespace rondo::nccl

/// Defines `name`, whose parameters follow. They are not looked at.
#define RONDO_NCCL_REFUSED(result, name, ...)                              \
  extern "C" result name(__VA_ARGS__);                                     \
  RONDO_NCCL_EXPORT(name);                                                 \
  result name(__VA_ARGS__) { return rondo::nccl::refused<result>(#name); } \
  static_assert(true, "takes the semicolon that follows the macro")

RONDO_NCCL_REFUSED(ncclResult_t, ncclSetEncryption, const ncclEncryptionConfig_t*);

// No header here declares the rest, and so they need no parameters: on x86-64 a function may leave
// alone whatever its caller passes.
RONDO_NCCL_REFUSED(ncclResult_t, ncclDevCommCreate);
RONDO_NCCL_REFUSED(ncclResult_t, ncclDevCommDestroy);
RONDO_NCCL_REFUSED(ncclResult_t, ncclGetLsaDevicePointer);
RONDO_NCCL_REFUSED(ncclResult_t, ncclGetPeerDevicePointer);
RONDO_NCCL_REFUSED(ncclResult_t, ncclGetLsaMultimemDevicePointer);
RONDO_NCCL_REFUSED(ncclResult_t, ncclGetMultimemDevicePointer);
RONDO_NCCL_REFUSED(ncclResult_t, ncclLsaBarrierCreateRequirement);
RONDO_NCCL_REFUSED(ncclResult_t, ncclGinBarrierCreateRequirement);
RONDO_NCCL_REFUSED(int, ncclLLA2ACalcSlots);
RONDO_NCCL_REFUSED(ncclResult_t, ncclLLA2ACreateRequirement);
RONDO_NCCL_REFUSED(ncclResult_t, ncclGinOutboxCreateRequirement);
RONDO_NCCL_REFUSED(ncclResult_t, ncclGinInboxA2ACreateRequirement);
// Since 2.31.
RONDO_NCCL_REFUSED(ncclResult_t, ncclGetMultimemDeviceLeInfo);
RONDO_NCCL_REFUSED(ncclResult_t, ncclGetCftDeviceLeInfo);
RONDO_NCCL_REFUSED(ncclResult_t, ncclGetPeerDeviceLeInfo);
RONDO_NCCL_REFUSED(ncclTeam, ncclTeamCft);
RONDO_NCCL_REFUSED(ncclTeam, ncclTeamCftMultimem);
RONDO_NCCL_REFUSED(ncclResult_t, ncclCftBarrierCreateRequirement);
