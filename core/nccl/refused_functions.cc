// Functions that rondo does not serve. The symbols exist, so that programs load. A call returns an
// error that says why, or nothing.
#include <string>
#include <type_traits>

#include "core/nccl/device_functions.h"
#include "core/nccl/errors.h"
#include "core/nccl/exports.h"

namespace rondo::nccl {
namespace {

// As the table in core/nccl/README.md says.
constexpr const char* no_encryption =
    "rondo does not encrypt; use a private network or an encrypted tunnel";
constexpr const char* device_api =
    "this is NCCL's device API, which runs inside NCCL's own kernels";
constexpr const char* fabric_api =
    "this is NCCL's device API for fabric endpoints of Blackwell GPUs";

template <class Result>
Result refused(const char* function, const char* why) {
  [[maybe_unused]] const ncclResult_t result = guarded(function, [&]() -> ncclResult_t {
    throw Error(ErrorCode::invalid_usage,
                "rondo does not serve " + std::string(function) + ": " + why);
  });
  if constexpr (std::is_same_v<Result, ncclResult_t>) {
    return result;
  } else {
    return {};
  }
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

/// Defines `name`, whose parameters follow. They are not looked at.
#define RONDO_NCCL_REFUSED(why, result, name, ...)                              \
  extern "C" result name(__VA_ARGS__);                                          \
  RONDO_NCCL_EXPORT(name);                                                      \
  result name(__VA_ARGS__) { return rondo::nccl::refused<result>(#name, why); } \
  static_assert(true, "takes the semicolon that follows the macro")

RONDO_NCCL_REFUSED(no_encryption, ncclResult_t, ncclSetEncryption, const ncclEncryptionConfig_t*);

// No header here declares the rest, and so they need no parameters: on x86-64 a function may leave
// alone whatever its caller passes.
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclDevCommCreate);
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclDevCommDestroy);
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclGetLsaDevicePointer);
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclGetPeerDevicePointer);
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclGetLsaMultimemDevicePointer);
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclGetMultimemDevicePointer);
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclLsaBarrierCreateRequirement);
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclGinBarrierCreateRequirement);
RONDO_NCCL_REFUSED(device_api, int, ncclLLA2ACalcSlots);
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclLLA2ACreateRequirement);
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclGinOutboxCreateRequirement);
RONDO_NCCL_REFUSED(device_api, ncclResult_t, ncclGinInboxA2ACreateRequirement);
// Since 2.31.
RONDO_NCCL_REFUSED(fabric_api, ncclResult_t, ncclGetMultimemDeviceLeInfo);
RONDO_NCCL_REFUSED(fabric_api, ncclResult_t, ncclGetCftDeviceLeInfo);
RONDO_NCCL_REFUSED(fabric_api, ncclResult_t, ncclGetPeerDeviceLeInfo);
RONDO_NCCL_REFUSED(fabric_api, ncclTeam, ncclTeamCft);
RONDO_NCCL_REFUSED(fabric_api, ncclTeam, ncclTeamCftMultimem);
RONDO_NCCL_REFUSED(fabric_api, ncclResult_t, ncclCftBarrierCreateRequirement);
