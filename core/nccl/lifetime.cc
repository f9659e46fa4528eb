// The end of communicators (finalize, destroy, abort, revoke), and questions about them.
#include <string>

#include "core/nccl/exports.h"
#include "core/nccl/groups.h"
#include "core/nccl/handles.h"

using namespace rondo::nccl;

RONDO_NCCL_EXPORT(ncclCommFinalize);
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (comm == NCCL_COMM_NULL) return ncclSuccess;
  return guarded("ncclCommFinalize", [&] {
    const auto member = member_of(comm);
    member->finalize();
    return member->traits().blocking ? ncclSuccess : ncclInProgress;
  });
}

RONDO_NCCL_EXPORT(ncclCommDestroy);
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == NCCL_COMM_NULL) return ncclSuccess;
  return guarded("ncclCommDestroy", [&] { Member::give_up(take_handle(comm)); });
}

RONDO_NCCL_EXPORT(ncclCommAbort);
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == NCCL_COMM_NULL) return ncclSuccess;
  return guarded("ncclCommAbort", [&] {
    auto member = take_handle(comm);
    if (!Member::is_left_to_parent(member)) member->abort();
  });
}

RONDO_NCCL_EXPORT(ncclCommRevoke);
ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags) {
  return guarded("ncclCommRevoke", [&] {
    if (revokeFlags != NCCL_REVOKE_DEFAULT) {
      throw rondo::Error(rondo::ErrorCode::invalid_argument,
                         "revokeFlags is " + std::to_string(revokeFlags),
                         {.remedy = "pass NCCL_REVOKE_DEFAULT"});
    }
    member_of(comm)->revoke();
  });
}

RONDO_NCCL_EXPORT(ncclCommGetAsyncError);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return guarded("ncclCommGetAsyncError", [&] {
    const auto member = member_of(comm);
    require(asyncError, "asyncError");
    // The communicator's failure is the answer, not the failure of the question; its words are for
    // ncclGetLastError.
    *asyncError = guarded("the communicator failed",
                          [&] { return member->poll() ? ncclSuccess : ncclInProgress; });
  });
}

RONDO_NCCL_EXPORT(ncclCommCount);
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return guarded("ncclCommCount", [&] {
    const auto member = member_of(comm);
    require(count, "count");
    *count = member->parent().size();
  });
}

RONDO_NCCL_EXPORT(ncclCommUserRank);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return guarded("ncclCommUserRank", [&] {
    const auto member = member_of(comm);
    require(rank, "rank");
    *rank = member->parent().rank();
  });
}

RONDO_NCCL_EXPORT(ncclCommCuDevice);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return guarded("ncclCommCuDevice", [&] {
    const auto member = member_of(comm);
    require(device, "device");
    *device = member->traits().device;
  });
}

RONDO_NCCL_EXPORT(ncclCommSuspend);
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags) {
  return guarded("ncclCommSuspend", [&] {
    member_of(comm)->state();
    if (flags != NCCL_SUSPEND_MEM) {
      throw rondo::Error(rondo::ErrorCode::invalid_argument, "flags is " + std::to_string(flags),
                         {.remedy = "pass NCCL_SUSPEND_MEM"});
    }
  });
}

RONDO_NCCL_EXPORT(ncclCommResume);
ncclResult_t ncclCommResume(ncclComm_t comm) {
  return guarded("ncclCommResume", [&] { member_of(comm)->state(); });
}

RONDO_NCCL_EXPORT(ncclCommMemStats);
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value) {
  return guarded("ncclCommMemStats", [&] {
    const auto member = member_of(comm);
    member->parent();
    require(value, "value");
    const auto number = static_cast<int>(stat);
    if (number < ncclStatGpuMemSuspend || number > ncclStatGpuMemTotal) {
      throw rondo::Error(rondo::ErrorCode::invalid_argument,
                         "statistic " + std::to_string(number) + " is unknown",
                         {.remedy = "use an ncclCommMemStat_t"});
    }
    const rondo::direct_device::DeviceCalls* const calls = member->device_calls();
    const bool taken = calls != nullptr && number >= ncclStatGpuMemPersist;
    *value = taken ? calls->bytes() : 0;  // nothing of it can be suspended
  });
}
