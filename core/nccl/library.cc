// Questions about the library itself: version, error texts, log.
#include "core/base/log.h"
#include "core/nccl/errors.h"
#include "core/nccl/exports.h"
#include "core/settings/settings.h"

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclGetVersion);
ncclResult_t ncclGetVersion(int* version) {
  return guarded("ncclGetVersion", [&] {
    require(version, "version");
    *version = rondo::read_config().nccl_version;
  });
}

RONDO_NCCL_EXPORT(ncclGetErrorString);
const char* ncclGetErrorString(ncclResult_t result) { return words_of(result); }

RONDO_NCCL_EXPORT(ncclGetLastError);
const char* ncclGetLastError(ncclComm_t /*comm*/) { return last_error(); }

RONDO_NCCL_EXPORT(ncclResetDebugInit);
void ncclResetDebugInit() {
  guarded("ncclResetDebugInit", [] { rondo::configure_log(rondo::read_config().debug); });
}

/// NVIDIA's library exports it for its own tools, without a header or a second name.
extern "C" void ncclResetDebugInitInternal() { ncclResetDebugInit(); }
